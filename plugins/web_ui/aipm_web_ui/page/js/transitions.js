// The one table of moves, as the server has it. The page mirrors it; the server decides.

export const COLUMNS = ['backlog', 'todo', 'in_progress', 'blocked', 'done'];
export const STATUSES = [...COLUMNS, 'cancelled'];
/** @type {Record<string, string[]>} */
export const MOVES = {
  backlog: ['todo', 'in_progress', 'cancelled'],
  todo: ['backlog', 'in_progress', 'cancelled'],
  in_progress: ['todo', 'blocked', 'done', 'cancelled'],
  blocked: ['todo', 'in_progress', 'cancelled'],
  done: [],
  cancelled: [],
};

/** @param {string} status */
export const isFinished = (status) => status === 'done' || status === 'cancelled';

/**
 * What stands around a task: how many tasks must be finished before it, whether one above it has
 * stopped, how many below it are open.
 * @typedef {{waitsFor: number, parentStopped: boolean, openBelow: number}} Around
 * @typedef {'same'|'final'|'transition'|'approval'|'dependencies'|'parent'|'children'} WhyNot
 */

/**
 * Why a task cannot be moved, or null if it can.
 * @param {{status: string, approval_status?: string}} task
 * @param {string} to
 * @param {Around} around
 * @returns {WhyNot|null}
 */
export function whyNot(task, to, around) {
  if (task.status === to) return 'same';
  const allowed = MOVES[task.status] ?? [];
  if (!allowed.length) return 'final';
  if (!allowed.includes(to)) return 'transition';
  if (to === 'in_progress') return whyNotStart(task, around);
  return to === 'done' && around.openBelow ? 'children' : null;
}

/**
 * @param {{approval_status?: string}} task
 * @param {Around} around
 * @returns {WhyNot|null}
 */
function whyNotStart(task, { waitsFor, parentStopped }) {
  if (task.approval_status && task.approval_status !== 'approved') return 'approval';
  if (waitsFor) return 'dependencies';
  return parentStopped ? 'parent' : null;
}
