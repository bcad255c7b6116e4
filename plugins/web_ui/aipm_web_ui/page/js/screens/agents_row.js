// One agent's session or run in the list: what it does, what proves it, and what one can do.
import { html } from '../lib.js';
import { Button, LinkButton } from '../ui/controls.js';
import { Menu } from '../ui/menu.js';
import { Avatar, Doing, Purpose, RunState, TaskLink, Time } from '../ui/members.js';
import { format, goTo } from '../address.js';
import { doing, inbox, member, needOf, stageOf } from '../records.js';
import { canAct, mayOrder, project, show } from '../store.js';
import { giveHere } from '../orders.js';
import { costText, proofOf, runOfSession, runs, tokensText, used, whyText } from '../runs.js';
import { millis, now, span, t } from '../texts.js';
import { Stages } from './stages.js';
import { tell } from '../overlays/interrupt.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** What waits for me because an agent is not started any more. @param {string} agentId */
export const failedRun = (agentId) =>
  inbox.value.find((item) => item.kind === 'run' && item.agent_id === agentId);

/** @param {{session: Rec}} props */
export function Row({ session }) {
  const early = session.state === 'run';
  const run = early ? session.run : runOfSession(session.id);
  const state = early ? 'working' : doing(session, now.value);
  const stage = early ? null : stageOf(session, now.value);
  const off = state === 'off';
  const agent = member(session.agent_id);
  const last = run ?? runs.value.find((one) => one.agent_id === session.agent_id);
  const address = last
    ? format(project.value, 'runs', last.id)
    : format(project.value, 'chat', session.agent_id);
  return html`<li class="ag-row" data-session=${session.id}>
    <div class="ag-who">
      <${Avatar} id=${session.agent_id} size=${32} />
      <div class="col">
        <a class="ag-name" href=${address}>${session.agent_id}</a>
        <span class="xs t2 row gap-1"
          >${session.purpose && html`<${Purpose} purpose=${session.purpose} />`}${agent.program}</span
        >
      </div>
    </div>
    <div class="ag-state">
      <${State} run=${run} state=${state} stage=${stage} />
      <span class="ag-proof xs t3"
        >${
          run
            ? html`${t(`ru.by.${proofOf(run)[0]}`)}${' '}<${Time} at=${proofOf(run)[1]} />`
            : off
              ? whyText(agent)
              : t(`ag.proof.${state}`)
        }</span
      >
    </div>
    <div class="ag-task">
      ${session.task_id ? html`<${TaskLink} id=${session.task_id} plain />` : html`<span class="t3 sm">${t('ag.notask')}</span>`}
    </div>
    <div class="ag-age xs t2">
      ${
        off
          ? html`<span>—</span>`
          : html`<span>${t('ag.age', { t: span(now.value - millis(session.since)) })}</span>
              <span class="t3">${t('ag.lastseen')} <${Time} at=${session.last_seen} /></span>`
      }
    </div>
    <${Use} agent=${session.agent_id} />
    <div class="ag-act">
      <${MainAction} session=${session} state=${state} stage=${stage} run=${run} /><${More}
        session=${session}
        off=${off || early}
        run=${run}
      />
    </div>
    ${stage && html`<div class="ag-stage"><${Stages} stage=${stage} onForce=${() => show(run ? 'stop_run' : 'force', run ? { id: run.id } : { session: session.id })} /></div>`}
  </li>`;
}

/** @param {any} props */
function State({ run, state, stage }) {
  if (stage && stage.stage !== 'stopped') return html`<${Doing} doing="stopping" />`;
  return run && state !== 'needs_you'
    ? html`<${RunState} run=${run} />`
    : html`<${Doing} doing=${state} />`;
}

/** What the runs of an agent have used. @param {{agent: string}} props */
function Use({ agent }) {
  const own = runs.value.filter((run) => run.agent_id === agent);
  if (!own.length) return html`<div class="ag-use"></div>`;
  const { tokens, cost } = used(own);
  if (tokens == null && cost == null)
    return html`<div class="ag-use xs t3">${t('ru.unknown')}</div>`;
  return html`<div class="ag-use xs num">
    <span>${tokensText(tokens)}</span><span class="t3">${costText(cost)}</span>
  </div>`;
}

/** @param {any} props */
function MainAction({ session, state, stage, run }) {
  const need = needOf(session) ?? (state === 'off' ? failedRun(session.agent_id) : null);
  if (need)
    return html`<${LinkButton}
      kind="primary"
      icon="reply"
      href=${format(project.value, 'inbox', need.id)}
      >${t('ag.answer')}<//
    >`;
  if (state === 'off') return html`<${Start} agent=${member(session.agent_id)} />`;
  if (session.state === 'run')
    return (
      mayOrder('stop_run') &&
      html`<${Button} kind="stop" icon="stop" disabled=${!canAct.value || !!run.stop_by} onClick=${() => show('stop_run', { id: run.id })}>${t('ru.stop')}<//>`
    );
  if (!mayOrder('notify')) return null;
  const running = !!stage && stage.stage !== 'stopped';
  return html`<${Button}
    kind="stop"
    icon="hand"
    disabled=${!canAct.value || running}
    onClick=${() => show('interrupt', { session: session.id })}
    >${t('int.button')}<//
  >`;
}

/** Start an agent: its program, or by hand as it is connected. @param {{agent: Rec}} props */
function Start({ agent }) {
  if (!agent.program || !mayOrder('start_run'))
    return html`<${LinkButton} icon="play" href=${format('', 'settings', 'connect')}
      >${t('int.start')}<//
    >`;
  const need = (agent.needs ?? [])[0];
  const start = () =>
    giveHere('start_run', { agent_id: agent.id, purpose: need?.purpose ?? 'task' });
  return html`<${Button} icon="play" disabled=${!canAct.value} onClick=${start}
    >${t('int.start')}<//
  >`;
}

/** @param {{session: Rec, off: boolean, run?: Rec}} props */
function More({ session, off, run }) {
  const label = `${t('c.more')}: ${session.agent_id} ${session.purpose ? t(`purpose.${session.purpose}`) : ''}`;
  const items = [
    run && {
      label: t('ru.open'),
      icon: 'terminal',
      onSelect: () => goTo(format(project.value, 'runs', run.id)),
    },
    mayOrder('edit_agent') && {
      label: `${t('ru.program.edit')}…`,
      icon: 'edit',
      onSelect: () => show('member', { id: session.agent_id }),
    },
    {
      label: t('int.message.b'),
      icon: 'chat',
      onSelect: () => goTo(format(project.value, 'chat', session.agent_id)),
    },
    !off &&
      mayOrder('notify') && {
        label: `${t('int.button')}…`,
        icon: 'hand',
        onSelect: () => show('interrupt', { session: session.id }),
      },
    !off &&
      mayOrder('notify') && {
        label: t('int.resume'),
        icon: 'play',
        note: t('int.resume.d'),
        disabled: !canAct.value,
        onSelect: () => tell(session, 'resume'),
      },
    run && mayOrder('stop_run') && { separator: true },
    run &&
      mayOrder('stop_run') && {
        label: `${t('ru.stop')}…`,
        icon: 'stop',
        disabled: !canAct.value || !!run.stop_by,
        onSelect: () => show('stop_run', { id: run.id }),
      },
    run &&
      mayOrder('stop_run') && {
        label: `${t('ru.kill')}…`,
        icon: 'power',
        kind: 'danger',
        disabled: !canAct.value,
        onSelect: () => show('stop_run', { id: run.id, kill: true }),
      },
    !off && !run && mayOrder('end_session') && { separator: true },
    !off &&
      !run &&
      mayOrder('end_session') && {
        label: `${t('int.force')}…`,
        icon: 'power',
        kind: 'danger',
        onSelect: () => show('force', { session: session.id }),
      },
  ];
  return html`<${Menu} items=${items} label=${label} />`;
}
