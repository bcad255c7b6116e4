// The board without a mouse: walk from card to card, and move one.
import { useKeys } from '../keys.js';
import { cannotMove, taskById } from '../records.js';
import { move } from '../orders.js';
import { COLUMNS, STATUSES } from '../transitions.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @param {Rec[][]} grid */
export function useBoardKeys(grid) {
  const step = (/** @type {number} */ across, /** @type {number} */ down) => {
    const at = positionOf(focusedTask(), grid);
    let [column, row] = at ?? [grid.findIndex((cards) => cards.length), -1];
    if (across && at) {
      do column += across;
      while (grid[column] && !grid[column].length);
    }
    const cards = grid[column] ?? [];
    const next =
      cards[Math.max(0, Math.min(cards.length - 1, across && at ? row : row + (down || 1)))];
    if (next) focusCard(next.id);
  };
  const shift = (/** @type {number} */ by) => {
    const task = taskById.value[focusedTask() ?? ''];
    if (!task) return false;
    let at = STATUSES.indexOf(task.status) + by;
    while (COLUMNS[at] && cannotMove(task, COLUMNS[at])) at += by;
    if (COLUMNS[at]) move(task, COLUMNS[at]).then(() => focusCard(task.id));
    return true;
  };
  useKeys({
    j: () => step(0, 1),
    k: () => step(0, -1),
    h: () => step(-1, 0),
    l: () => step(1, 0),
    m: () => {
      const open = /** @type {HTMLElement|null} */ (
        focusedCard()?.querySelector('[aria-haspopup=menu]')
      );
      if (!open) return false;
      open.click();
      return true;
    },
    'Alt+ArrowRight': () => shift(1),
    'Alt+ArrowLeft': () => shift(-1),
  });
}

const focusedCard = () =>
  /** @type {HTMLElement|null} */ (document.activeElement?.closest('[data-task]') ?? null);
const focusedTask = () => focusedCard()?.dataset.task;
/** @param {string} id */
const focusCard = (id) =>
  requestAnimationFrame(() =>
    /** @type {HTMLElement|null} */ (
      document.querySelector(`[data-task="${CSS.escape(id)}"] a`)
    )?.focus(),
  );

/** @param {string|undefined} id @param {Rec[][]} grid @returns {[number, number]|null} */
function positionOf(id, grid) {
  for (const [column, cards] of grid.entries()) {
    const row = cards.findIndex((task) => task.id === id);
    if (row >= 0) return [column, row];
  }
  return null;
}
