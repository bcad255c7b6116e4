// The orders an item offers, with what a person adds to them.

/** @typedef {import('../fold.js').Rec} Rec */

/** @param {Rec} item @param {string} name @returns {any} */
export const action = (item, name) =>
  item.actions?.find((/** @type {Rec} */ one) => one.name === name);

/** @param {any} found @param {Record<string, unknown>} more */
export const withMore = (found, more) => ({
  tool: found.tool,
  arguments: {
    ...found.arguments,
    ...Object.fromEntries(Object.entries(more).filter(([, value]) => value)),
  },
});
