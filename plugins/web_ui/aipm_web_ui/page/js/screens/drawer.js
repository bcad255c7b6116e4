// One task beside the board: details, history, sessions, conversations and delegations.
import { html, signal, useEffect, useRef } from '../lib.js';
import { Button, Tabs } from '../ui/controls.js';
import { Menu } from '../ui/menu.js';
import { Icon } from '../ui/icons.js';
import { Priority, Status, TaskLink, Time, Who } from '../ui/members.js';
import { Markdown, Said } from '../ui/text.js';
import { Empty, Fact } from '../ui/layout.js';
import { useKeys } from '../keys.js';
import { format, goTo } from '../address.js';
import { agents, holder, subtasks, taskById, tasks, waitingFor } from '../records.js';
import { canAct, mayOrder, project, show } from '../store.js';
import { giveHere } from '../orders.js';
import { t } from '../texts.js';
import { titleOf } from './inbox_item.js';
import { moveItems } from './card.js';
import { History, RunLine, SessionLine, Sessions, Talks, talksOf } from './drawer_tabs.js';
import { Changes } from './run_changes.js';
import { costText, liveRun, runsOfTask, used } from '../runs.js';

/** @typedef {import('../fold.js').Rec} Rec */

const tab = signal('details');

/** @param {{id: string}} props */
export function Drawer({ id }) {
  const ref = useRef(/** @type {HTMLElement|null} */ (null));
  const task = taskById.value[id];
  const board = format(project.value, 'board');
  const close = () => {
    goTo(board);
    requestAnimationFrame(() =>
      /** @type {HTMLElement|null} */ (
        document.querySelector(`[data-task="${CSS.escape(id)}"] a`)
      )?.focus(),
    );
  };
  useEffect(
    () =>
      /** @type {HTMLElement|null} */ (ref.current?.querySelector('h2'))?.focus({
        preventScroll: true,
      }),
    [id],
  );
  useKeys({ Escape: close });
  const closer = html`<a class="btn ghost square" href=${board} aria-label=${t('ta.closelabel')}
    ><${Icon} name="x"
  /></a>`;
  if (!task) {
    return html`<aside class="drawer" ref=${ref} aria-label=${t('ta.notfound')}>
      <header class="dr-top"><span class="grow"></span>${closer}</header>
      <${Empty} icon="board" title=${t('ta.notfound')} text=${t('nf.d')} />
    </aside>`;
  }
  const changed = runsOfTask(id).find((run) => run.base);
  const tabs = [
    { id: 'details', label: t('ta.details'), body: () => html`<${Details} task=${task} />` },
    ...(changed
      ? [
          {
            id: 'changes',
            label: t('ru.changes'),
            body: () => html`<${Changes} key=${changed.id} run=${changed} />`,
          },
        ]
      : []),
    { id: 'history', label: t('ta.history'), body: () => html`<${History} task=${task} />` },
    { id: 'sessions', label: t('ta.sessions'), body: () => html`<${Sessions} task=${task} />` },
    {
      id: 'talks',
      label: t('ta.talks'),
      count: talksOf(id).length,
      body: () => html`<${Talks} id=${id} />`,
    },
  ];
  const current = tabs.find((one) => one.id === tab.value) ?? tabs[0];
  return html`<aside class="drawer" ref=${ref} aria-label=${task.title}>
    <header class="dr-top">
      <span class="mono xs t3 cut">${id}</span><span class="grow"></span>
      <${Menu}
        label=${t('bo.move')}
        items=${moveItems(task)}
        button=${(/** @type {any} */ props) =>
          html`<button type="button" class="btn" ...${props}>
            <${Status} status=${task.status} /><${Icon} name="down" size="14" />
          </button>`}
      />
      ${mayOrder('edit_task') && html`<${Button} kind="ghost" icon="edit" label=${t('ta.edit')} disabled=${!canAct.value} onClick=${() => show('edit', { id })} />`}
      ${closer}
    </header>
    <div class="dr-title">
      <h2 tabindex="-1">${task.title}</h2>
      ${
        task.parent_task_id &&
        html`<p class="xs t2 row gap-1">
          <${Icon} name="parent" size="12" />${t('bo.partof')}
          <${TaskLink} id=${task.parent_task_id} plain />
        </p>`
      }
    </div>
    ${waitingFor(id).map(
      (item) =>
        html`<a key=${item.id} class="dr-need" href=${format(project.value, 'inbox', item.id)}>
          <${Icon} name=${item.level === 'CRITICAL' ? 'octagon' : 'shield'} /><span class="grow"
            >${titleOf(item)}</span
          >
          <span class="med">${t('ag.answer')}</span><${Icon} name="right" size="14" />
        </a>`,
    )}
    <${Tabs}
      label=${task.title}
      value=${current.id}
      tabs=${tabs}
      onChange=${(/** @type {string} */ value) => (tab.value = value)}
    />
    <div
      class="dr-body scroll"
      role="tabpanel"
      id=${`panel-${current.id}`}
      aria-labelledby=${`tab-${current.id}`}
      tabindex="0"
    >
      ${current.body()}
    </div>
  </aside>`;
}

/** @param {{task: Rec}} props */
function Details({ task }) {
  const session = holder(task.id);
  const blocks = tasks.value.filter((one) => one.dependencies?.includes(task.id));
  const subs = subtasks(task.id);
  const run = liveRun(task.id);
  const all = runsOfTask(task.id);
  return html`${run ? html`<${RunLine} run=${run} />` : session && html`<${SessionLine} session=${session} />`}
    ${task.description && html`<${Markdown} tree=${task.description_md} text=${task.description} />`}
    ${
      task.status === 'blocked' &&
      task.block_reason &&
      html`<div class="callout bad">
        <${Icon} name="blocked" />
        <div>
          <p class="med sm">${t('in.block.reason')}</p>
          <${Said} text=${task.block_reason} />
        </div>
      </div>`
    }
    ${
      task.summary &&
      html`<div class="callout">
        <${Icon} name="check" />
        <div>
          <p class="med sm">${t('ta.summary')}</p>
          <${Said} text=${task.summary} />
        </div>
      </div>`
    }
    <dl class="facts">
      <${Fact} name=${t('ta.status')}><${Status} status=${task.status} /><//>
      ${task.held_by && html`<${Fact} name=${t('ta.heldby')}><${TaskLink} id=${task.held_by} plain /><//>`}
      <${Fact} name=${t('pr.label')}><${Priority} priority=${task.priority} text /><//>
      <${Fact} name=${t('ta.assignee')}><${Assignee} task=${task} /><//>
      ${task.requester_id && html`<${Fact} name=${t('ta.requester')}><${Who} id=${task.requester_id} /><//>`}
      ${all.length > 0 && html`<${Fact} name=${t('ru.cost')}><span class="num">${costText(used(all).cost)}</span><//>`}
      <${Fact} name=${t('ta.created')}><${Time} at=${task.created_at} /><//>
      <${Fact} name=${t('ta.updated')}><${Time} at=${task.updated_at} /><//>
    </dl>
    <${TaskList} icon="link" title=${t('ta.deps')} ids=${task.dependencies ?? []} />
    <${TaskList} icon="branch" title=${t('ta.blocks')} ids=${blocks.map((one) => one.id)} />
    <${TaskList} icon="sub" title=${t('ta.subs')} ids=${subs.map((one) => one.id)} />`;
}

/** @param {{task: Rec}} props */
function Assignee({ task }) {
  const who = task.assignee_id
    ? html`<${Who} id=${task.assignee_id} />`
    : html`<span class="t2">${t('c.unassigned')}</span>`;
  if (!mayOrder('assign_task')) return who;
  const items = agents.value.map((one) => ({
    label: one.id,
    checked: one.id === task.assignee_id,
    icon: 'agents',
    disabled: !canAct.value,
    onSelect: () => giveHere('assign_task', { task_id: task.id, assignee_id: one.id }),
  }));
  return html`<${Menu}
    align="left"
    label=${t('ta.assignee')}
    items=${items}
    button=${(/** @type {any} */ props) => html`<button type="button" class="btn ghost inline" ...${props}>${who}<${Icon} name="down" size="14" /></button>`}
  />`;
}

/** @param {any} props */
const TaskList = ({ icon, title, ids }) =>
  ids.length > 0 &&
  html`<section>
    <h3 class="h">
      <${Icon} name=${icon} size="14" />${title}<span class="num">${ids.length}</span>
    </h3>
    <ul class="tl">
      ${ids.map((/** @type {string} */ id) => html`<li key=${id}><${TaskLink} id=${id} /></li>`)}
    </ul>
  </section>`;
