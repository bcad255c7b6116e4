// What the page knows is a fold: (world, message) → world. Pure, so that it is tested on its own.

/**
 * @typedef {Record<string, any>} Rec one record of a view
 * @typedef {Record<string, Rec>} View records by id
 * @typedef {{cursor: string|null, views: Record<string, View>, complete: boolean}} World
 * @typedef {{cursor: string, views: Record<string, View>}} State an answer of `/state`
 * @typedef {{cursor: string, view: string, id: string, record: Rec|null}} Change
 * @typedef {{resync: true}} Resync
 * @typedef {{cursor: string}} Place a newer place in the stream, and nothing else
 * @typedef {State|Change|Resync|Place} Message
 */

/** Before anything was told. @type {World} */
export const NOTHING = Object.freeze({ cursor: null, views: {}, complete: false });

/**
 * Put one message in place. Records that did not change stay the very same objects.
 * @param {World} world
 * @param {Message} message
 * @returns {World}
 */
export function fold(world, message) {
  if ('views' in message) return { cursor: message.cursor, views: message.views, complete: true };
  // What is shown stays until the new state arrives; only the place in the stream is forgotten.
  if ('resync' in message) return { ...world, cursor: null };
  if (!('view' in message)) return { ...world, cursor: message.cursor ?? world.cursor };
  return {
    ...world,
    cursor: message.cursor,
    views: { ...world.views, [message.view]: withRecord(world.views[message.view], message) },
  };
}

/**
 * @param {View|undefined} view
 * @param {Change} change
 * @returns {View}
 */
function withRecord(view, { id, record }) {
  return put({ ...view }, { id, record });
}

/**
 * @param {View} view
 * @param {{id: string, record: Rec|null}} change
 */
function put(view, { id, record }) {
  if (record === null) delete view[id];
  else view[id] = record;
  return view;
}

/**
 * Put many messages in place. The same as one after the other, but each view is copied only once.
 * @param {World} world
 * @param {Message[]} messages
 * @returns {World}
 */
export function foldAll(world, messages) {
  let next = world;
  /** @type {Set<string>} */
  let copied = new Set();
  for (const message of messages) {
    if (!('view' in message) || !copied.has(message.view)) {
      next = fold(next, message);
      copied = 'view' in message ? copied.add(message.view) : new Set();
    } else {
      put(next.views[message.view], message);
      next.cursor = message.cursor;
    }
  }
  return next;
}
