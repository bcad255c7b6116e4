// The board: a column for each status, moved by mouse, by keys or by menu.
import { html, classes, signal, useEffect, useState } from '../lib.js';
import { Button, Segments } from '../ui/controls.js';
import { Avatar, Status } from '../ui/members.js';
import { Command } from '../ui/text.js';
import { Empty, Head, Listing, Skeleton, useTitle } from '../ui/layout.js';
import { place } from '../address.js';
import { agents, byText, cannotMove, tasks, waitingFor } from '../records.js';
import { mayOrder, me, project, show } from '../store.js';
import { move } from '../orders.js';
import { t } from '../texts.js';
import { COLUMNS } from '../transitions.js';
import { useBoardKeys } from './board_keys.js';
import { Card, factsOf, whyText } from './card.js';
import { Drawer } from './drawer.js';

/** @typedef {import('../fold.js').Rec} Rec */

const filter = signal('all');
const assignee = signal('');
const phoneColumn = signal('in_progress');
/** A column shows so many cards at first, so that the board has 300 at most. */
const MOST = 60;
/** What fits a tall screen is drawn first, the rest once it has been seen. */
const FIRST = 16;
/** @type {Record<string, number>} */
const RANK = { urgent: 0, high: 1, medium: 2, low: 3 };

/** @param {Rec} task */
function shown(task) {
  if (assignee.value && task.assignee_id !== assignee.value) return false;
  if (filter.value === 'cancelled') return task.status === 'cancelled';
  if (task.status === 'cancelled') return false;
  if (filter.value === 'mine') return task.requester_id === me.value.id;
  return filter.value !== 'needs' || waitingFor(task.id).length > 0;
}

/** @param {string} column @param {Rec[]} all */
function cardsOf(column, all) {
  const own = all.filter((task) => task.status === column);
  const newestFirst = column === 'done' || column === 'cancelled';
  return own.sort((a, b) =>
    newestFirst
      ? byText('updated_at')(b, a)
      : RANK[a.priority] - RANK[b.priority] || byText('created_at')(a, b),
  );
}

export function Board() {
  const id = place.value.screen === 'tasks' ? place.value.rest[0] : undefined;
  const columns = filter.value === 'cancelled' ? ['cancelled'] : COLUMNS;
  const all = tasks.value.filter(shown);
  const grid = columns.map((column) => cardsOf(column, all));
  const [dragged, setDragged] = useState(/** @type {Rec|null} */ (null));
  useTitle(t('bo.title'));
  useBoardKeys(grid);
  return html`<div class=${classes('screen', 'board-screen', id && 'detail-open')}>
    <${Head}
      title=${t('bo.title')}
      tools=${
        mayOrder('create_task') &&
        html`<${Button} kind="primary" icon="plus" onClick=${() => show('create')}
          >${t('bo.new')}<//
        >`
      }
    >
      <${Filters} />
    <//>
    <div class="body board-body">
      <${Listing}
        items=${tasks.value}
        skeleton=${html`<${Waiting} />`}
        empty=${html`<${NoTasks} />`}
      >
        <div class="col-tabs scroll">
          ${columns.map(
            (column, at) =>
              html`<button
                type="button"
                key=${column}
                aria-pressed=${String(phoneColumn.value === column)}
                onClick=${() => (phoneColumn.value = column)}
              >
                <${Status} status=${column} /><span class="num t3">${grid[at].length}</span>
              </button>`,
          )}
        </div>
        <div class=${classes('board', dragged && 'dragging')}>
          ${columns.map(
            (column, at) =>
              html`<${Column}
                key=${column}
                column=${column}
                cards=${grid[at]}
                chosen=${id}
                dragged=${dragged}
                onDrag=${setDragged}
              />`,
          )}
        </div>
      <//>
    </div>
    ${id && html`<${Drawer} key=${id} id=${id} />`}
  </div>`;
}

function Filters() {
  const all = tasks.value;
  const cancelled = all.filter((task) => task.status === 'cancelled').length;
  const needs = all.filter((task) => waitingFor(task.id).length).length;
  const options = [
    { value: 'all', label: t('c.all'), count: all.length ? all.length - cancelled : null },
    { value: 'needs', label: t('bo.needs'), count: needs || null },
    { value: 'mine', label: t('bo.mine') },
    { value: 'cancelled', label: t('bo.cancelled'), count: cancelled || null },
  ];
  return html`<${Segments}
      label=${t('c.filter')}
      value=${filter.value}
      onChange=${(/** @type {string} */ value) => (filter.value = value)}
      options=${options}
    />
    <div class="facepile" role="group" aria-label=${t('ta.assignee')}>
      <button
        type="button"
        class="face"
        aria-pressed=${String(!assignee.value)}
        onClick=${() => (assignee.value = '')}
      >
        ${t('bo.everyone')}
      </button>
      ${agents.value
        .slice(0, 12)
        .map(
          (one) =>
            html`<button
              type="button"
              key=${one.id}
              class="face"
              aria-pressed=${String(assignee.value === one.id)}
              onClick=${() => (assignee.value = assignee.value === one.id ? '' : one.id)}
            >
              <${Avatar} id=${one.id} size=${18} />${one.id}
            </button>`,
        )}
    </div>`;
}

/** @param {any} props */
function Column({ column, cards, chosen, dragged, onDrag }) {
  const [over, setOver] = useState(false);
  const [more, setMore] = useState(1);
  const why = dragged ? cannotMove(dragged, column) : null;
  const ok = dragged && (!why || why === 'same');
  const most = MOST * more;
  const [drawn, setDrawn] = useState(FIRST);
  useEffect(() => setDrawn(most), [most]);
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(false);
    if (dragged && !why) move(dragged, column);
    onDrag(null);
  };
  const dragOver = (/** @type {DragEvent} */ event) => {
    if (!ok) return;
    event.preventDefault();
    setOver(true);
  };
  const dragLeave = (/** @type {any} */ event) => {
    if (!event.currentTarget.contains(event.relatedTarget)) setOver(false);
  };
  return html`<section
    class=${classes('column', phoneColumn.value === column && 'phone-on', dragged && !ok && 'no', over && ok && !why && 'over')}
    aria-label=${t(`st.${column}`)}
    onDragOver=${dragOver}
    onDragLeave=${dragLeave}
    onDrop=${drop}
  >
    <header class="col-h">
      <h2><${Status} status=${column} /></h2>
      <span class="num t3 sm">${cards.length}</span><span class="grow"></span>
      ${
        ['backlog', 'todo'].includes(column) &&
        mayOrder('create_task') &&
        html`<${Button}
          kind="ghost"
          size="small"
          icon="plus"
          label=${t('bo.add', { s: t(`st.${column}`) })}
          onClick=${() => show('create', { status: column })}
        />`
      }
    </header>
    ${dragged && !ok && html`<p class="col-no">${whyText(dragged, column)}</p>`}
    <ul class="cards scroll">
      ${cards.slice(0, drawn).map((/** @type {Rec} */ task) => html`<${Card} key=${task.id} task=${task} current=${chosen === task.id} onDrag=${onDrag} ...${factsOf(task)} />`)}
      ${!cards.length && html`<li class="col-empty">${t('bo.empty.col')}</li>`}
      ${cards.length > most && html`<li><${Button} cls="wide" onClick=${() => setMore(more + 1)}>${t('bo.more', { n: cards.length - most })}<//></li>`}
    </ul>
  </section>`;
}

const Waiting = () =>
  html`<div class="board">
    ${COLUMNS.map(
      (column, at) =>
        html`<section class="column" key=${column} aria-label=${t(`st.${column}`)}>
          <header class="col-h">
            <h2><${Status} status=${column} /></h2>
          </header>
          <${Skeleton} kind="cards" rows=${[3, 4, 2, 1, 3][at]} />
        </section>`,
    )}
  </div>`;

const NoTasks = () =>
  html`<div class="scroll fill">
    <${Empty} icon="board" title=${t('bo.empty.t')} text=${t('bo.empty.d')}>
      <${Command} text=${`aipm task add --project ${project.value} --title "…" --status todo`} />
      <div class="row">
        <${Button} kind="primary" icon="plus" onClick=${() => show('create')}>${t('bo.new')}<//>
      </div>
    <//>
  </div>`;
