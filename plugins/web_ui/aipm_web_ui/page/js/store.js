// What the page knows right now, and how it hears of changes.
import { batch, computed, signal } from './lib.js';
import { NOTHING, foldAll } from './fold.js';
import { openLink } from './link.js';
import { call, Refusal } from './api.js';
import { signIn, lastProject } from './preferences.js';
import { place } from './address.js';

/**
 * @typedef {import('./fold.js').Rec} Rec
 * @typedef {{record: Rec, at: number, how: string|null, reason: string}} Settled
 * @typedef {{id: string, name: string, paused?: boolean, waiting?: number, [more: string]: any}} Project
 */

export const world = signal(/** @type {import('./fold.js').World} */ (NOTHING));
export const link = signal(
  /** @type {import('./follow.js').Link} */ ({
    state: 'connecting',
    since: Date.now(),
    retryAt: null,
  }),
);
/** Mine; null before the server told them. */
export const projects = signal(/** @type {Project[]|null} */ (null));
/** What I may order, by name. @type {{value: Record<string, Rec>}} */
export const tools = signal(/** @type {Record<string, Rec>} */ ({}));
export const panels = signal(/** @type {Rec[]} */ ([]));
/** Why the first answers did not come. */
export const failure = signal(/** @type {Refusal|null} */ (null));
/** Moves that are shown before the server has confirmed them, by task. */
export const moving = signal(/** @type {Record<string, string>} */ ({}));
/** Items that left the inbox while this page looked: they stay readable until the reader goes on. */
export const settled = signal(/** @type {Record<string, Settled>} */ ({}));
/** Answers of mine on their way, by item. */
export const answering = signal(/** @type {Record<string, string>} */ ({}));
/** What was announced to everybody, until somebody has read it. */
export const announcement = signal('');
/** The overlay that is open. */
export const overlay = signal(/** @type {{kind: string, [more: string]: any}|null} */ (null));

/** @param {string} kind @param {Record<string, any>} [more] */
export const show = (kind, more = {}) => {
  overlay.value = { kind, ...more };
};
export const hide = () => {
  overlay.value = null;
};

export const me = computed(() => signIn.value?.person ?? { id: '', name: '', role: 'worker' });
/** The project one looks at: that of the address, else the last one, else the first. */
export const project = computed(
  () => place.value.project || known(lastProject.value) || projects.value?.[0]?.id || '',
);
/** @param {string} id */
const known = (id) => (projects.value && !projects.value.some((one) => one.id === id) ? '' : id);
/** Orders are given only while the page is up to date. */
export const canAct = computed(() => link.value.state === 'live');
export const mayOrder = (/** @type {string} */ tool) => tool in tools.value;

let watched = '';
const source = openLink(hear);

/** @param {string} from @param {import('./follow.js').News} news */
function hear(from, { message, link: next, announced }) {
  if (from !== watched) return;
  if (announced) announcement.value = announced;
  if (next) link.value = next;
  if (next?.state === 'signed_out') forgetSignIn();
  if (message) take(message);
}

/** @type {import('./fold.js').Message[]} */
let waiting = [];

/** What comes between two frames is drawn together; a page nobody sees is in no hurry.
 * @param {import('./fold.js').Message} message */
function take(message) {
  waiting.push(message);
  if (waiting.length > 1) return;
  if (document.hidden) setTimeout(takeAll, 100);
  else requestAnimationFrame(takeAll);
}

function takeAll() {
  const before = world.peek();
  const after = foldAll(before, waiting);
  waiting = [];
  batch(() => {
    noteSettled(before.views.inbox ?? {}, after.views.inbox ?? {});
    noteMoved(after.views.tasks ?? {});
    world.value = after;
  });
}

/** @param {Record<string, Rec>} before @param {Record<string, Rec>} after */
function noteSettled(before, after) {
  if (before === after) return;
  const left = Object.keys(before).filter((id) => !(id in after));
  const back = Object.keys(settled.peek()).filter((id) => id in after);
  if (!left.length && !back.length) return;
  const next = { ...settled.peek() };
  for (const id of back) delete next[id];
  for (const id of left) {
    next[id] ??= { record: before[id], at: Date.now(), how: null, reason: '' };
  }
  settled.value = next;
}

/** A move is confirmed when the stream shows it. @param {Record<string, Rec>} tasks */
function noteMoved(tasks) {
  const open = Object.entries(moving.peek()).filter(([id, to]) => tasks[id]?.status !== to);
  if (open.length < Object.keys(moving.peek()).length) moving.value = Object.fromEntries(open);
}

/** Follow the project that is looked at. */
export function watchProject() {
  const next = project.value;
  const token = signIn.value?.token;
  if (projects.value?.some((one) => one.id === next)) lastProject.value = next;
  if (!token || !next || next === watched) return;
  watched = next;
  batch(() => {
    world.value = NOTHING;
    settled.value = {};
    moving.value = {};
    link.value = { state: 'connecting', since: Date.now(), retryAt: null };
  });
  source.watch(next, token);
}

export const retryNow = () => source.retry();

/** Ask what does not come by stream: my projects, my tools, panels. */
export async function loadBasics() {
  const token = signIn.value?.token;
  if (!token) return;
  try {
    const [mine, offered, drawn] = await Promise.all([
      call('/api/projects', { token }),
      call('/api/tools', { token }),
      call('/api/panels', { token }).catch(() => ({ panels: [] })),
    ]);
    batch(() => {
      failure.value = null;
      projects.value = mine.projects;
      tools.value = Object.fromEntries(
        offered.tools.map((/** @type {Rec} */ tool) => [tool.name, tool]),
      );
      panels.value = drawn.panels;
    });
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) forgetSignIn();
    else failure.value = /** @type {Refusal} */ (error);
  }
}

/** @param {import('./preferences.js').SignIn} found */
export function rememberSignIn(found) {
  signIn.value = found;
}

export function forgetSignIn() {
  watched = '';
  source.leave();
  batch(() => {
    signIn.value = null;
    world.value = NOTHING;
    projects.value = null;
    tools.value = {};
    settled.value = {};
  });
}

/** Sign out here and at the server. */
export async function signOut() {
  const token = signIn.value?.token;
  forgetSignIn();
  if (token) await call('/api/logout', { token, body: {} }).catch(() => {});
}
