// The orders an item offers, with what a person adds to them.
import { project } from '../store.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @param {Rec} item @param {string} name @returns {any} */
export const action = (item, name) =>
  item.actions?.find((/** @type {Rec} */ one) => one.name === name);

/** @param {Rec} item @param {string} content */
export const reply = (item, content) => ({
  tool: 'say',
  arguments: { project_id: project.value, agent_id: item.agent_id, content },
});

/** A no with the arguments a person would agree to; null if the text is no JSON object.
 * @param {Rec} item @param {string} text @returns {any} */
export function instead(item, text) {
  try {
    const given = JSON.parse(text);
    if (!given || typeof given !== 'object' || Array.isArray(given)) return null;
    const asked = { project_id: project.value, confirmation_id: item.id };
    return { tool: 'propose_instead', arguments: { ...asked, arguments: given } };
  } catch {
    return null;
  }
}

/** @param {any} found @param {Record<string, unknown>} more */
export const withMore = (found, more) => ({
  tool: found.tool,
  arguments: {
    ...found.arguments,
    ...Object.fromEntries(Object.entries(more).filter(([, value]) => value)),
  },
});
