// What a person does. Reversible moves are shown at once; answers wait for the server.
import { batch } from './lib.js';
import { order, Refusal } from './api.js';
import { answering, canAct, moving, project, settled, world } from './store.js';
import { signIn } from './preferences.js';
import { announce, toast } from './notices.js';
import { cannotMove, holder, taskById } from './records.js';
import { MOVES } from './transitions.js';
import { t } from './texts.js';

/** @typedef {import('./fold.js').Rec} Rec */

/** @param {unknown} error */
export function explain(error) {
  if (!(error instanceof Refusal)) return t('er.unknown');
  return error.status === 0 ? t('er.unreachable') : error.message || t('er.unknown');
}

/**
 * Call a tool in my name; null and a toast when it was refused.
 * @param {string} tool
 * @param {Record<string, unknown>} args
 */
export async function give(tool, args) {
  try {
    return await order(signIn.value?.token ?? '', tool, args);
  } catch (error) {
    toast(explain(error), { kind: 'bad' });
    return null;
  }
}

/** The same for what belongs to the project one looks at.
 * @param {string} tool @param {Record<string, unknown>} args */
export const giveHere = (tool, args) => give(tool, { project_id: project.value, ...args });

/**
 * Move a task: shown at once, put back when the server refuses.
 * @param {Rec} task
 * @param {string} to
 * @param {{quiet?: boolean, reason?: string}} [how]
 */
export async function move(task, to, { quiet = false, reason } = {}) {
  if (!canAct.value || cannotMove(task, to)) return false;
  const from = task.status;
  const interrupted = ['blocked', 'cancelled'].includes(to) ? holder(task.id) : undefined;
  moving.value = { ...moving.value, [task.id]: to };
  const done = await giveHere('move_task', {
    task_id: task.id,
    status: to,
    ...(reason ? { reason } : {}),
  });
  if (!done) {
    putBack(task.id);
    return false;
  }
  if (world.value.views.tasks?.[task.id]?.status === to) putBack(task.id);
  if (!quiet) {
    const text = interrupted
      ? t('bo.moved.int', { t: task.title, s: t(`st.${to}`), a: interrupted.agent_id })
      : t('bo.moved', { t: task.title, s: t(`st.${to}`) });
    const undo = MOVES[to].includes(from) && !interrupted ? () => moveBack(task.id, from) : null;
    toast(text, { undo });
  }
  return true;
}

/** @param {string} id @param {string} to */
function moveBack(id, to) {
  const task = taskById.value[id];
  if (task) move(task, to, { quiet: true });
}

/** @param {string} id */
function putBack(id) {
  const { [id]: _, ...rest } = moving.value;
  moving.value = rest;
}

/**
 * Answer an item of the inbox. It stays where it is, and open, until the server has agreed.
 * @param {Rec} item
 * @param {{tool: string, arguments: Record<string, unknown>}} action
 * @param {string} how for the words of the outcome
 * @param {string} [reason]
 */
export async function answer(item, action, how, reason = '') {
  if (!canAct.value || answering.value[item.id]) return false;
  answering.value = { ...answering.value, [item.id]: how };
  const done = await give(action.tool, action.arguments);
  const { [item.id]: _, ...rest } = answering.value;
  batch(() => {
    answering.value = rest;
    if (done) {
      settled.value = {
        ...settled.value,
        [item.id]: { record: item, at: Date.now(), how, reason },
      };
    }
  });
  if (done) announce(t(`in.done.${how}`, { p: signIn.value?.person.id, s: '' }));
  return done !== null;
}
