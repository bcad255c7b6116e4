// A task on the board, and the ways it can go from there.
import { html, classes, memo } from '../lib.js';
import { Menu } from '../ui/menu.js';
import { Icon } from '../ui/icons.js';
import { Avatar, Priority, shortId } from '../ui/members.js';
import { format, goTo } from '../address.js';
import {
  cannotMove,
  doing,
  holder,
  openDependencies,
  stageOf,
  subtasks,
  taskById,
  waitingFor,
} from '../records.js';
import { canAct, mayOrder, project } from '../store.js';
import { liveRun, runsOfTask, stateOf, used } from '../runs.js';
import { move } from '../orders.js';
import { locale, money, now, t } from '../texts.js';
import { MOVES, STATUSES } from '../transitions.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** Why a task cannot go there, in a sentence. @param {Rec} task @param {string} to */
export function whyText(task, to) {
  const why = cannotMove(task, to);
  const from = t(`st.${task.status}`);
  if (why === 'dependencies') return t('bo.starts', { t: openDependencies(task)[0]?.title });
  if (why === 'approval') return t('bo.requested');
  if (why === 'parent' || why === 'children') return t(`bo.why.${why}`);
  return why === 'final' ? t('bo.final', { s: from }) : t('bo.notallowed', { s: from });
}

/** @param {Rec} task */
export const moveItems = (task) => [
  { head: t('bo.move') },
  ...STATUSES.filter((status) => status !== task.status).map((status) => ({
    label: t(`st.${status}`),
    icon: status,
    disabled: !canAct.value || !mayOrder('move_task') || !!cannotMove(task, status),
    note: cannotMove(task, status) ? whyText(task, status) : null,
    onSelect: () => move(task, status),
  })),
];

/**
 * What a card shows besides its task, as plain values: a card is drawn again only when one of them
 * has changed, though anything may happen around it.
 * @param {Rec} task
 */
export function factsOf(task) {
  const parent = task.parent_task_id && taskById.value[task.parent_task_id];
  const subs = subtasks(task.id).filter((one) => one.status !== 'cancelled');
  const waits = openDependencies(task);
  const [icon, tone, text] = liveLine(task) ?? [];
  const { cost } = used(runsOfTask(task.id));
  return {
    locale: locale(),
    movable: canAct.value && mayOrder('move_task'),
    parent: parent ? parent.title : '',
    subs: subs.length,
    subsDone: subs.filter((one) => one.status === 'done').length,
    waits: waits.length,
    waitsFor: waits.map((one) => one.title).join(', '),
    heldBy: task.held_by ? (taskById.value[task.held_by]?.title ?? shortId(task.held_by)) : '',
    cost: cost == null ? '' : money(cost),
    icon,
    tone,
    text,
  };
}

/** @param {Rec} task @param {string} address */
const itemsOf = (task, address) => [
  { label: t('c.open'), icon: 'panel', onSelect: () => goTo(address) },
  task.assignee_id && {
    label: t('int.message.b'),
    icon: 'chat',
    onSelect: () => goTo(format(project.value, 'chat', task.assignee_id)),
  },
  { separator: true },
  ...moveItems(task),
];

export const Card = memo((/** @type {any} */ props) => {
  const { task, current, onDrag, movable, parent, heldBy, icon, tone, text } = props;
  const draggable = movable && MOVES[task.status].length > 0;
  const drag = (/** @type {any} */ event) => {
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData('text/plain', task.id);
    setTimeout(() => onDrag(task)); // changing the page inside the event would end the drag
  };
  const address = format(project.value, 'tasks', task.id);
  return html`<li>
    <article
      class=${classes('tcard', current && 'current', task.status, task.moving && 'moving')}
      aria-label=${task.title}
      data-task=${task.id}
      draggable=${draggable}
      onDragStart=${drag}
      onDragEnd=${() => onDrag(null)}
    >
      <div class="tc-top">
        ${
          parent
            ? html`<span class="tc-parent cut"
                ><${Icon} name="parent" size="12" /><span class="cut">${parent}</span></span
              >`
            : html`<span class="tc-parent mono t3 cut" title=${task.id}>${shortId(task.id)}</span>`
        }
        <${Menu}
          size="small"
          label=${t('bo.actions', { t: task.title })}
          items=${() => itemsOf(task, address)}
        />
      </div>
      <a class="tc-title two" href=${address}>${task.title}</a>
      ${text && Line(icon, tone, text)}
      ${task.status === 'blocked' && task.block_reason && html`<span class="tc-why two">${task.block_reason}</span>`}
      ${heldBy && html`<span class="tc-why two">${t('bo.heldby', { t: heldBy })}</span>`}
      ${Foot(props)}
    </article>
  </li>`;
});

/**
 * What happens with the task right now: icon, tone, words.
 * @param {Rec} task
 * @returns {[string, string, string]|null}
 */
function liveLine(task) {
  const need = waitingFor(task.id).find((item) => item.kind === 'confirmation');
  if (need) return ['shield', 'you', t('ss.needs_you')];
  const session = holder(task.id);
  const run = liveRun(task.id);
  const failed = waitingFor(task.id).find((item) => item.kind === 'run');
  if (failed) return ['alert', 'you', failed.title];
  if (run && (!session || run.state !== 'running' || run.stop_by)) {
    const [sign, , words] = stateOf(run);
    return [run.state === 'running' && !run.stop_by ? '' : sign, 'mute', t('ru.line', { a: run.agent_id, s: words })];
  }
  if (!session || task.status !== 'in_progress') return null;
  const stage = stageOf(session, now.value);
  if (stage && stage.stage !== 'stopped')
    return ['hand', 'you', t(`int.s.${stage.stage}`, { n: 30 })];
  const state = doing(session, now.value);
  if (state === 'silent') return ['hourglass', 'bad', t('ss.silent')];
  if (state === 'awaiting_confirmation') return ['shield', 'mute', t('ss.awaiting_confirmation')];
  return ['', '', t('bo.worksonit', { a: session.agent_id })];
}

/** @param {string} icon @param {string} tone @param {string} text */
const Line = (icon, tone, text) =>
  html`<span class=${classes('live', tone)}>
    ${icon ? html`<${Icon} name=${icon} size="14" />` : html`<span class="pulse"></span>`}<span
      class=${classes('cut plain', icon && 'med')}
      >${text}</span
    >
  </span>`;

/** @param {any} props */
function Foot({ task, subs, subsDone, waits, waitsFor, cost }) {
  return html`<div class="tc-foot">
    <${Priority} priority=${task.priority} />
    ${
      task.approval_status === 'pending_approval' &&
      html`<span class="tag you"><${Icon} name="hourglass" size="12" />${t('bo.requested')}</span>`
    }
    ${
      waits > 0 &&
      html`<span class="tag" title=${waitsFor}
        ><${Icon} name="link" size="12" />${t('bo.waitsfor', { n: waits })}</span
      >`
    }
    ${
      subs > 0 &&
      html`<span class="tag" title=${t('bo.sub', { d: subsDone, n: subs })}
        ><${Icon} name="sub" size="12" label=${t('ta.subs')} /><span class="num"
          >${subsDone}/${subs}</span
        ></span
      >`
    }
    <span class="grow"></span>
    ${cost && html`<span class="xs t3 num" title=${t('ru.cost')}>${cost}</span>`}
    <span class="tc-face" title=${task.assignee_id ?? t('c.unassigned')}>
      ${
        task.assignee_id
          ? html`<${Avatar} id=${task.assignee_id} size=${20} />`
          : html`<span class="av none" aria-hidden="true"><${Icon} name="user" size="12" /></span>`
      }
      <span class="sr">${task.assignee_id ?? t('c.unassigned')}</span>
    </span>
  </div>`;
}
