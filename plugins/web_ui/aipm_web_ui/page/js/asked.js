// Answers of tools that only read, asked for when a part of the page shows them.
import { useEffect, useState } from './lib.js';
import { give } from './orders.js';
import { mayOrder } from './store.js';

/**
 * The answer of a tool, null before it came and {} when it was refused, and a way to ask again.
 * @param {string} tool
 * @param {Record<string, unknown>} [args]
 * @returns {[Record<string, any>|null, () => Promise<void>]}
 */
export function useAsked(tool, args = {}) {
  const [answer, setAnswer] = useState(/** @type {Record<string, any>|null} */ (null));
  const may = mayOrder(tool);
  const ask = async () => setAnswer((await give(tool, args)) ?? {});
  useEffect(() => {
    if (may) ask();
  }, [tool, JSON.stringify(args), may]);
  return [answer, ask];
}
