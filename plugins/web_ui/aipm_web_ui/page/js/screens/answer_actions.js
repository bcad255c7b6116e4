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

/** @param {any} found @param {Record<string, unknown>} more */
export const withMore = (found, more) => ({
  tool: found.tool,
  arguments: {
    ...found.arguments,
    ...Object.fromEntries(Object.entries(more).filter(([, value]) => value)),
  },
});
