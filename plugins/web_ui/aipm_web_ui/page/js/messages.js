// Messages are in no view: they are fetched for whoever is looked at, and again when a view says so.
import { signal } from './lib.js';
import { call, orderKey } from './api.js';
import { project } from './store.js';
import { signIn } from './preferences.js';
import { view } from './records.js';
import { giveHere } from './orders.js';

/**
 * @typedef {import('./fold.js').Rec} Rec
 * @typedef {{list: Rec[], start: number, error: unknown, loaded: boolean}} Thread
 */

const PAGE = 200;
/** A thread opens with at least so many messages, if there are so many. */
const ENOUGH = 40;

/** By project and agent. */
const threads = signal(/** @type {Record<string, Thread>} */ ({}));
/** @type {Thread} */
const EMPTY = { list: [], start: 0, error: null, loaded: false };
/** @param {string} agent */
const keyOf = (agent) => `${project.value}/${agent}`;
/** @param {string} agent */
const pathOf = (agent) =>
  `/api/projects/${encodeURIComponent(project.value)}/agents/${encodeURIComponent(agent)}/chat`;

/** @param {string} agent @returns {Thread} */
export const thread = (agent) => threads.value[keyOf(agent)] ?? EMPTY;

/** @param {string} key @param {Partial<Thread>} change */
function put(key, change) {
  threads.value = { ...threads.value, [key]: { ...(threads.value[key] ?? EMPTY), ...change } };
}

/** @param {Rec[]} known @param {Rec[]} more */
function merged(known, more) {
  const bySeq = new Map(known.map((message) => [message.seq, message]));
  for (const message of more) bySeq.set(message.seq, message);
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq);
}

/** @param {string} agent @param {number} after @returns {Promise<Rec[]>} */
async function fetchFrom(agent, after) {
  /** @type {Rec[]} */
  const found = [];
  let from = after;
  for (;;) {
    const token = signIn.value?.token;
    const page = await call(`${pathOf(agent)}/messages?after=${from}&limit=${PAGE}`, { token });
    found.push(...page.messages);
    from = page.next;
    if (!page.has_more) return found;
  }
}

/** Bring a thread up to date: its end at first, what is new afterwards. @param {string} agent */
export async function refresh(agent) {
  const key = keyOf(agent);
  const known = thread(agent);
  try {
    if (known.loaded) {
      // Read receipts change too, so the newest known ones are asked for again.
      const from = Math.max(known.start, (known.list.at(-ENOUGH)?.seq ?? 1) - 1);
      put(key, { list: merged(thread(agent).list, await fetchFrom(agent, from)), error: null });
      return;
    }
    const newest = view('chats')[agent]?.newest ?? 0;
    await openAt(agent, key, newest);
  } catch (error) {
    put(key, { error, loaded: true });
  }
}

/** Sequences count for all agents together: look further back until there is enough.
 * @param {string} agent @param {string} key @param {number} newest */
async function openAt(agent, key, newest) {
  for (let back = PAGE; ; back *= 8) {
    const start = Math.max(0, newest - back);
    const list = await fetchFrom(agent, start);
    if (list.length >= ENOUGH || start === 0) {
      put(key, { list, start, error: null, loaded: true });
      return;
    }
  }
}

/** Load what is before the first one shown. @param {string} agent */
export async function earlier(agent) {
  const key = keyOf(agent);
  const known = thread(agent);
  const start = Math.max(0, known.start - PAGE * 8);
  put(key, { list: merged(known.list, await fetchFrom(agent, start)), start });
}

/** @param {string} agent @param {string} text @returns {Promise<Rec[]>} */
export async function search(agent, text) {
  const path = `${pathOf(agent)}/search?q=${encodeURIComponent(text)}&limit=30`;
  return (await call(path, { token: signIn.value?.token })).messages;
}

/** Messages on their way, shown before they are stored. */
export const sending = signal(
  /** @type {{key: string, to: string, content: string, at: number}[]} */ ([]),
);

/** @param {string} agent @param {string} content @param {string} [related] */
export async function say(agent, content, related) {
  const key = orderKey();
  sending.value = [...sending.value, { key, to: agent, content, at: Date.now() }];
  try {
    const body = { content, ...(related ? { relatedTaskId: related } : {}) };
    const answer = await call(`${pathOf(agent)}/messages`, {
      token: signIn.value?.token,
      body,
      key,
    });
    if (answer.message) put(keyOf(agent), { list: merged(thread(agent).list, [answer.message]) });
  } finally {
    sending.value = sending.value.filter((one) => one.key !== key);
  }
}

/**
 * Take back a message of mine, or put other words in its place, while nobody has read it.
 * @param {Rec} message
 * @param {string} [content]
 */
export async function correct(message, content) {
  const args = { message_id: message.id };
  const done = await (content === undefined
    ? giveHere('withdraw_message', args)
    : giveHere('edit_message', { ...args, content }));
  await refresh(message.receiverId);
  return done !== null;
}
