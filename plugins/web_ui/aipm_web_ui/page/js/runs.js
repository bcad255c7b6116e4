// Questions about runs: which one belongs to what, what it uses, and why an agent is not running.
import { computed } from './lib.js';
import { byText, projectRecord, taskById, view } from './records.js';
import { clock, count, millis, money, now, t } from './texts.js';

/** @typedef {import('./fold.js').Rec} Rec */

/** Newest first. */
export const runs = computed(() =>
  Object.values(view('runs')).sort((a, b) => byText('created_at')(b, a) || byText('id')(b, a)),
);

const byTask = computed(() => {
  /** @type {Record<string, Rec[]>} */
  const found = {};
  for (const run of runs.value) if (run.task_id) (found[run.task_id] ??= []).push(run);
  return found;
});
/** The runs for a task, newest first. @param {string} id */
export const runsOfTask = (id) => byTask.value[id] ?? [];
/** The run that goes on for a task. @param {string} id @returns {Rec|undefined} */
export const liveRun = (id) => runsOfTask(id).find((run) => !run.ended_at);

const bySession = computed(() =>
  Object.fromEntries(
    runs.value.filter((run) => !run.ended_at && run.session_id).map((run) => [run.session_id, run]),
  ),
);
/** @param {string} id @returns {Rec|undefined} */
export const runOfSession = (id) => bySession.value[id];

/** What all of these have used, as far as it was reported.
 * @param {Rec[]} some @returns {{tokens: number|null, cost: number|null}} */
export function used(some) {
  const sum = (/** @type {string} */ field) => {
    const known = some.map((run) => run[field]).filter((value) => value != null);
    return known.length ? known.reduce((all, one) => all + one, 0) : null;
  };
  return { tokens: sum('tokens'), cost: sum('cost_usd') };
}

/** @param {number|null|undefined} n */
export const tokensText = (n) => (n == null ? t('ru.unknown') : t('ru.tokens', { n: count(n) }));
/** @param {number|null|undefined} usd */
export const costText = (usd) => (usd == null ? t('ru.unknown') : money(usd));

/**
 * What proves the state of a run, and when it did: a call of its session may be newer than what its
 * runner noted.
 * @param {Rec} run
 * @returns {[string, string|number]}
 */
export function proofOf(run) {
  const session = !run.ended_at && view('sessions')[run.session_id ?? ''];
  const later = session && millis(session.last_seen) > millis(run.evidence_at);
  return later ? ['call', session.last_seen] : [run.evidence, run.evidence_at];
}

/** Icon, tone, alive: what a run does. @param {Rec} run @returns {[string, string, string, boolean]} */
export function stateOf(run) {
  if (run.state === 'ended') {
    const good = run.end_reason === 'ok';
    const known = ['ok', 'stopped_by_person'].includes(run.end_reason) ? run.end_reason : 'failed';
    return [good ? 'check' : 'x', good ? 'mute' : 'bad', t(`ru.end.${known}`), false];
  }
  if (run.stop_by) return ['stop', 'you', t('ru.st.ending'), true];
  if (run.state === 'waiting' && run.waits_for)
    return ['clock', 'mute', t(`ru.waits.${run.waits_for}`), false];
  return ['wrench', 'work', t(`ru.st.${run.state}`), run.state === 'running'];
}

/**
 * Why an agent runs or not, in a sentence. Everything in it was told by the server.
 * @param {Rec} agent
 */
export function whyText(agent) {
  if (projectRecord.value.paused) return t('ru.why.paused');
  const needs = /** @type {Rec[]} */ (agent.needs ?? []);
  const need = needs.find((one) => one.state !== 'running') ?? needs[0];
  if (need) {
    const task = taskById.value[need.task_id]?.title ?? t(`purpose.${need.purpose}`);
    const late = need.until && millis(need.until) <= now.value;
    const state = late ? 'starts' : need.state;
    const told = { w: task, a: agent.id, at: clock(millis(need.until)), d: need.what ?? '' };
    return t(need.pool && state === 'starts' ? 'ru.why.pool' : `ru.why.${state}`, told);
  }
  const [wait] = /** @type {Rec[]} */ (agent.waits ?? []);
  if (wait) {
    const title = (/** @type {string} */ id) => taskById.value[id]?.title ?? id;
    return t(`ru.why.${wait.cause}`, { w: title(wait.task_id), b: wait.of ? title(wait.of) : '' });
  }
  return t(agent.program ? 'ru.why.nothing' : 'ru.why.by_hand');
}
