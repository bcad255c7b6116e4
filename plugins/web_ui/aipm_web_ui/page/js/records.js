// Questions the screens ask of the world. Nothing here changes anything.
import { computed } from './lib.js';
import { me, moving, world } from './store.js';
import { isFinished, whyNot } from './transitions.js';
import { millis, now } from './texts.js';

/** @typedef {import('./fold.js').Rec} Rec */

/** Times are ISO texts: their order is that of their letters.
 * @param {string} field @returns {(a: Rec, b: Rec) => number} */
export const byText = (field) => (a, b) => (a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : 0);

/** @type {Record<string, Rec>} */
const NO_RECORDS = Object.freeze({});
/** @type {Map<string, {readonly value: Record<string, Rec>}>} */
const views = new Map();

/**
 * The records of a view. Whoever reads them is drawn again only when this view changes.
 * @param {string} name
 */
export function view(name) {
  let own = views.get(name);
  if (!own) {
    own = computed(() => world.value.views[name] ?? NO_RECORDS);
    views.set(name, own);
  }
  return own.value;
}

const names = computed(() => Object.keys(world.value.views).sort().join());
/** @param {string} name */
export const hasView = (name) => names.value.split(',').includes(name);

export const taskById = computed(() => /** @type {Record<string, Rec>} */ (withMoves()));

function withMoves() {
  const tasks = view('tasks');
  const moves = Object.entries(moving.value).filter(([id]) => tasks[id]);
  if (!moves.length) return tasks;
  return {
    ...tasks,
    ...Object.fromEntries(
      moves.map(([id, to]) => [id, { ...tasks[id], status: to, moving: true }]),
    ),
  };
}
export const tasks = computed(() => Object.values(taskById.value));
export const members = computed(() => Object.values(view('members')));
export const agents = computed(() => members.value.filter((one) => one.kind !== 'human'));
export const people = computed(() => members.value.filter((one) => one.kind === 'human'));
export const sessions = computed(() => Object.values(view('sessions')));
/** The session in which an agent reads messages. @param {string} id @returns {Rec|undefined} */
export const chatSession = (id) =>
  sessions.value.find((one) => one.agent_id === id && one.purpose === 'chat');
export const conversations = computed(() =>
  Object.values(view('conversations')).sort(byText('created_at')).reverse(),
);
export const delegations = computed(() => Object.values(view('delegations')));
export const activity = computed(() =>
  Object.values(view('activity')).sort((a, b) => byText('at')(b, a) || byText('id')(b, a)),
);
const NEVER = Number.MAX_SAFE_INTEGER;
/** What is critical first, then what ends first, then what waits longest. */
export const inbox = computed(() =>
  Object.values(view('inbox')).sort(
    (a, b) =>
      Number(b.level === 'CRITICAL') - Number(a.level === 'CRITICAL') ||
      (millis(a.deadline) || NEVER) - (millis(b.deadline) || NEVER) ||
      millis(a.since) - millis(b.since),
  ),
);
/** What waits for me and was not put off. */
export const waiting = computed(() => inbox.value.filter((item) => !snoozed(item)));
/** @param {Rec} item */
export const snoozed = (item) => !!item.snoozed_until && millis(item.snoozed_until) > now.value;
export const projectRecord = computed(() => Object.values(view('project'))[0] ?? {});

/** @param {string|null|undefined} id @returns {Rec} */
export const member = (id) =>
  view('members')[id ?? ''] ??
  (id === me.value.id
    ? { ...me.value, kind: 'human' }
    : { id: id ?? '', name: id ?? '', kind: 'unknown' });

/** Tasks that must be done before. @param {Rec} task @returns {Rec[]} */
export const openDependencies = (task) =>
  (task.dependencies ?? [])
    .map((/** @type {string} */ id) => taskById.value[id])
    .filter((/** @type {Rec|undefined} */ one) => one && !isFinished(one.status));

const children = computed(() => {
  /** @type {Record<string, Rec[]>} */
  const found = {};
  for (const task of tasks.value) {
    if (task.parent_task_id) (found[task.parent_task_id] ??= []).push(task);
  }
  return found;
});
/** @param {string} id */
export const subtasks = (id) => children.value[id] ?? [];

/** The tasks above, nearest first. @param {Rec} task @returns {Rec[]} */
function above(task) {
  /** @type {Rec[]} */
  const found = [];
  for (let one = task; found.length < 50;) {
    one = taskById.value[one.parent_task_id ?? ''];
    if (!one) break;
    found.push(one);
  }
  return found;
}

/** @param {Rec} task @param {string} to */
export const cannotMove = (task, to) =>
  whyNot(/** @type {any} */ (task), to, {
    waitsFor: openDependencies(task).length,
    parentStopped: above(task).some((one) => one.status === 'blocked' || isFinished(one.status)),
    openBelow: subtasks(task.id).filter((one) => !isFinished(one.status)).length,
  });

const holding = computed(() => {
  /** @type {Record<string, Rec>} */
  const found = {};
  for (const one of sessions.value) if (one.task_id) found[one.task_id] = one;
  return found;
});
/** The session that works on a task. @param {string} id @returns {Rec|undefined} */
export const holder = (id) => holding.value[id];

const waitingByTask = computed(() => {
  /** @type {Record<string, Rec[]>} */
  const found = {};
  for (const item of inbox.value) if (item.task_id) (found[item.task_id] ??= []).push(item);
  return found;
});
/** What waits for me because of a task. @param {string} id */
export const waitingFor = (id) => waitingByTask.value[id] ?? [];

/** What waits for me because of an agent's session. @param {Rec} session */
export const needOf = (session) =>
  inbox.value.find(
    (item) =>
      item.session_id === session.id ||
      (item.kind === 'blocked' &&
        item.agent_id === session.agent_id &&
        item.task_id === session.task_id),
  );

/** How long an agent may be silent before the page says so. */
const SILENT = 10 * 60_000;

/** @typedef {'needs_you'|'awaiting_confirmation'|'silent'|'working'|'waiting'|'off'} Doing */

/**
 * What a session does, as far as the server knows.
 * @param {Rec} session
 * @param {number} at
 * @returns {Doing}
 */
export function doing(session, at) {
  if (session.state === 'off') return 'off';
  if (needOf(session)) return 'needs_you';
  if (session.state === 'awaiting_confirmation') return 'awaiting_confirmation';
  if (at - millis(session.last_seen) > SILENT) return 'silent';
  const task = session.task_id && taskById.value[session.task_id];
  return task && task.status === 'in_progress' ? 'working' : 'waiting';
}

const interrupts = computed(() => {
  const all = Object.values(view('notifications')).filter((one) => one.type === 'interrupt');
  /** @type {Record<string, Rec[]>} */
  const found = {};
  for (const one of all.sort(byText('created_at'))) (found[one.agent_id] ??= []).push(one);
  return found;
});

/** How long after it the page still says that an agent was stopped, and when silence is told. */
const REMEMBERED = 60_000;
const NO_REACTION = 30_000;

/** @typedef {{stage: 'stopping'|'stopped'|'silent', at: number, action: string}} Stage */

/**
 * How far an interrupt of a session has come. The record in the view is the proof of the first stage,
 * its `read_at` that of the last one.
 * @param {Rec} session
 * @param {number} at
 * @returns {Stage|null}
 */
export function stageOf(session, at) {
  const mine = (interrupts.value[session.agent_id] ?? []).filter(
    (one) =>
      (!one.audience || one.audience === session.purpose) &&
      (one.session_id ? one.session_id === session.id : one.created_at >= session.since),
  );
  const newest = mine.at(-1);
  if (!newest) return null;
  const made = millis(newest.created_at);
  if (newest.read_at) {
    const recent = at - millis(newest.read_at) < REMEMBERED;
    return recent ? { stage: 'stopped', at: made, action: newest.action } : null;
  }
  return {
    stage: at - made > NO_REACTION ? 'silent' : 'stopping',
    at: made,
    action: newest.action,
  };
}
