// What belongs to a task besides its details: history, sessions, conversations.
import { html } from '../lib.js';
import { Icon } from '../ui/icons.js';
import { Avatar, Doing, Purpose, RunState, Time } from '../ui/members.js';
import { Empty } from '../ui/layout.js';
import { format } from '../address.js';
import { activity, conversations, delegations, doing, sessions } from '../records.js';
import { project } from '../store.js';
import { costText, runsOfTask } from '../runs.js';
import { now, t } from '../texts.js';
import { ActivityLine } from './activity_line.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @param {{session: Rec}} props */
export const SessionLine = ({ session }) =>
  html`<a class="dr-live" href=${format(project.value, 'agents')}>
    <${Avatar} id=${session.agent_id} size=${24} />
    <span class="grow">
      <span class="row gap-1 wrap"
        ><span class="bold sm">${session.agent_id}</span
        ><${Purpose} purpose=${session.purpose} /><${Doing}
          doing=${doing(session, now.value)}
          small
      /></span>
      <span class="xs t3">${t('ag.lastseen')} <${Time} at=${session.last_seen} /></span>
    </span>
    <${Icon} name="right" size="14" />
  </a>`;

/** @param {{run: Rec}} props */
export const RunLine = ({ run }) =>
  html`<a class="dr-live" href=${format(project.value, 'runs', run.id)}>
    <${Avatar} id=${run.agent_id} size=${24} />
    <span class="grow">
      <span class="row gap-1 wrap"
        ><span class="bold sm">${run.agent_id}</span><${RunState} run=${run} small
      /></span>
      <span class="xs t3"
        >${run.program} · <${Time} at=${run.created_at} /> · ${costText(run.cost_usd)}</span
      >
    </span>
    <${Icon} name="right" size="14" />
  </a>`;

/** @param {{task: Rec}} props */
export function History({ task }) {
  const lines = activity.value.filter((one) => one.ref?.id === task.id);
  return html`<ol class="tline">
    ${lines.map((line) => html`<${ActivityLine} key=${line.id} line=${line} short />`)}
    ${
      !lines.some((line) => line.verb === 'task.created') &&
      html`<li>
        <span class="tl-ic"><${Icon} name="plus" size="14" /></span
        ><span class="sm grow"
          >${t('ac.v.task.created', { a: task.requester_id ?? '—', w: task.title })}</span
        ><span class="xs t3"><${Time} at=${task.created_at} /></span>
      </li>`
    }
  </ol>`;
}

/** @param {{task: Rec}} props */
export function Sessions({ task }) {
  const started = runsOfTask(task.id);
  const known = started.filter((run) => !run.ended_at).map((run) => run.session_id);
  const own = sessions.value.filter((one) => one.task_id === task.id && !known.includes(one.id));
  if (!own.length && !started.length)
    return html`<${Empty}
      small
      icon="terminal"
      title=${t('ta.sessions.none.t')}
      text=${t('ta.sessions.none.d')}
    />`;
  return html`${started.map((run) => html`<${RunLine} key=${run.id} run=${run} />`)}
  ${own.map((one) => html`<${SessionLine} key=${one.id} session=${one} />`)}`;
}

/** @param {string} id */
export const talksOf = (id) =>
  [...delegations.value, ...conversations.value].filter((one) => one.task_id === id);

/** @param {{id: string}} props */
export function Talks({ id }) {
  const found = talksOf(id);
  if (!found.length) return html`<${Empty} small icon="talks" title=${t('ta.talks.none')} />`;
  return found.map((one) =>
    'max_turns' in one
      ? html`<a
          key=${one.id}
          class="dr-live plain"
          href=${format(project.value, 'conversations', one.id)}
        >
          <${Icon} name="talks" /><span class="grow"
            ><span class="sm med">${one.purpose ?? t('co.title')}</span>
            <span class="xs t3"
              >${one.initiator_id} ↔ ${one.participant_id} ·
              ${t('co.turn', { n: one.turns, m: one.max_turns })}</span
            ></span
          >
          <span class="tag">${t(`co.${one.state}`)}</span>
        </a>`
      : html`<div key=${one.id} class="dlg">
          <${Icon} name="handover" />
          <div class="grow">
            <p class="sm">${one.purpose}</p>
            <p class="xs t3">
              <span class="mono">${one.id}</span> · <${Time} at=${one.created_at} />
            </p>
          </div>
          <span class=${`tag ${one.status === 'completed' ? 'good' : 'you'}`}
            >${t(`dl.${one.status}`)}</span
          >
        </div>`,
  );
}
