// One run: what it does and what proves it, what it prints and changes, and the ways to stop it.
import { html, useState } from '../lib.js';
import { Button, Tabs } from '../ui/controls.js';
import { Menu } from '../ui/menu.js';
import { Icon } from '../ui/icons.js';
import { Avatar, Purpose, RunState, TaskLink, Time } from '../ui/members.js';
import { Empty, Fact, Head, Listing, useTitle } from '../ui/layout.js';
import { LinkButton } from '../ui/controls.js';
import { useKeys } from '../keys.js';
import { format, goTo, place } from '../address.js';
import { inbox, sessions, stageOf, view } from '../records.js';
import { canAct, mayOrder, project, show } from '../store.js';
import { giveHere } from '../orders.js';
import { millis, now, span, t } from '../texts.js';
import { costText, proofOf, tokensText } from '../runs.js';
import { Changes } from './run_changes.js';
import { Log } from './run_log.js';
import { Stages } from './stages.js';

/** @typedef {import('../fold.js').Rec} Rec */

export function Run() {
  const [id, wanted] = place.value.rest;
  const run = view('runs')[id ?? ''];
  const title = run ? run.agent_id : t('ru.title');
  const [unfolded, setUnfolded] = useState(false);
  const agents = format(project.value, 'agents');
  useTitle(title);
  const session = run && sessions.value.find((one) => one.id === run.session_id);
  useKeys({
    x: () => session && show('interrupt', { session: session.id }),
    o: () => setUnfolded((was) => !was),
    Escape: () => goTo(agents),
  });
  if (!run) return html`<${NoRun} back=${agents} />`;
  const tab = wanted === 'changes' ? 'changes' : 'log';
  const tabs = [
    { id: 'log', label: t('ru.log') },
    { id: 'changes', label: t('ru.changes') },
  ];
  return html`<div class="screen session">
    <header class="head se-head">
      <a class="btn ghost square back" href=${agents} aria-label=${t('c.back')}
        ><${Icon} name="left"
      /></a>
      <div class="head-title">
        <${Avatar} id=${run.agent_id} size=${28} />
        <div class="col se-name">
          <div class="row">
            <h1 tabindex="-1">${run.agent_id}</h1>
            <${Purpose} purpose=${run.purpose} />
          </div>
          <div class="row gap-1 wrap">
            <${RunState} run=${run} /><span class="xs t3 hide-phone"><${Proof} run=${run} /></span>
          </div>
        </div>
      </div>
      <div class="head-tools">
        <${Orders} run=${run} session=${session} unfolded=${unfolded} onFold=${setUnfolded} />
      </div>
    </header>
    <div class="body se-body">
      <div class="se-col">
        <${Outcome} run=${run} />
        ${session && html`<${Stopping} session=${session} />`}
        <details class="se-mini">
          <summary class="sm t2">
            <${Icon} name="right" size="14" />${t('ru.facts')}<span class="grow"></span
            ><span class="num xs t3">${costText(run.cost_usd)}</span>
          </summary>
          <${Facts} run=${run} />
        </details>
        <${Tabs}
          label=${title}
          value=${tab}
          tabs=${tabs}
          onChange=${(/** @type {string} */ next) => goTo(format(project.value, 'runs', id, next === 'log' ? null : next))}
        />
        <div class="se-panel" role="tabpanel" id=${`panel-${tab}`} aria-labelledby=${`tab-${tab}`}>
          ${
            tab === 'log'
              ? html`<${Log} key=${id} id=${id} unfolded=${unfolded} />`
              : html`<div class="se-changes scroll" tabindex="0">
                  <${Changes} key=${id} run=${run} />
                </div>`
          }
        </div>
      </div>
      <aside class="se-rail scroll" aria-label=${t('ru.facts')}>
        <h2 class="h">${t('ru.facts')}</h2>
        <${Facts} run=${run} />
      </aside>
    </div>
  </div>`;
}

/** Stop in three steps, each harder than the one before. @param {any} props */
function Orders({ run, session, unfolded, onFold }) {
  const live = !run.ended_at;
  const stage = session && stageOf(session, now.value);
  const interrupting = !!stage && stage.stage !== 'stopped';
  const again = () => giveHere('start_run', { agent_id: run.agent_id, purpose: run.purpose });
  const items = [
    live &&
      mayOrder('stop_run') && {
        label: `${t('ru.stop')}…`,
        icon: 'stop',
        note: t('ru.stop.n'),
        disabled: !canAct.value || !!run.stop_by,
        onSelect: () => show('stop_run', { id: run.id }),
      },
    live &&
      mayOrder('stop_run') && {
        label: `${t('ru.kill')}…`,
        icon: 'power',
        kind: 'danger',
        note: t('ru.kill.n'),
        disabled: !canAct.value,
        onSelect: () => show('stop_run', { id: run.id, kill: true }),
      },
    !live &&
      mayOrder('undo_run') && {
        label: `${t('ru.undo')}…`,
        icon: 'undo',
        kind: 'danger',
        note: t(run.branch ? 'ru.undo.n' : 'ru.undo.not'),
        disabled: !canAct.value || !run.branch || !!run.undone_at,
        onSelect: () => show('undo_run', { id: run.id }),
      },
    {
      label: t('int.message.b'),
      icon: 'chat',
      onSelect: () => goTo(format(project.value, 'chat', run.agent_id)),
    },
  ];
  return html`<${Button} kind="ghost" icon=${unfolded ? 'minus' : 'list'} cls="hide-phone" onClick=${() => onFold(!unfolded)}>${t(unfolded ? 'ru.fold' : 'ru.unfold')}<//>
    ${live && session && mayOrder('notify') && html`<${Button} kind="stop" icon="hand" cls="keep" disabled=${!canAct.value || interrupting} onClick=${() => show('interrupt', { session: session.id })}>${t('int.button')}<//>`}
    ${!live && mayOrder('start_run') && inbox.value.some((one) => one.run_id === run.id) && html`<${Button} icon="play" cls="keep" disabled=${!canAct.value} onClick=${again}>${t('ru.again')}<//>`}
    <${Menu} items=${items} label=${`${t('c.more')}: ${run.agent_id}`} />`;
}

/** How far an interrupt of the run's session has come. @param {{session: Rec}} props */
function Stopping({ session }) {
  const stage = stageOf(session, now.value);
  const run = Object.values(view('runs')).find((one) => one.session_id === session.id);
  if (!stage) return null;
  return html`<div class="se-note">
    <${Stages} stage=${stage} onForce=${() => show('stop_run', { id: run?.id })} />
  </div>`;
}

/** How it ended, and what to do about it. @param {{run: Rec}} props */
function Outcome({ run }) {
  if (!run.ended_at && run.stop_by)
    return html`<p class="callout se-note">
      <${Icon} name="stop" /><span>${t('ru.told', { p: run.stop_by })}</span>
    </p>`;
  if (!run.ended_at || (run.end_reason === 'ok' && !run.undone_at)) return null;
  const bad = !['ok', 'stopped_by_person'].includes(run.end_reason);
  return html`<div class=${`callout se-note ${bad ? 'bad' : ''}`}>
    <${Icon} name=${run.undone_at ? 'undo' : bad ? 'alert' : 'stop'} />
    <div>
      ${run.undone_at && html`<p class="med sm">${t('ru.undone', { p: run.undone_by })}</p>`}
      ${run.end_reason !== 'ok' && html`<p class="med sm">${run.detail}</p><p class="sm t2">${run.advice}</p>`}
    </div>
  </div>`;
}

/** What proves the state, and how old that is. @param {{run: Rec}} props */
function Proof({ run }) {
  const [by, at] = proofOf(run);
  return html`${t(`ru.by.${by}`)}${' '}<span class="t3"><${Time} at=${at} /></span>`;
}

/** @param {{run: Rec}} props */
function Facts({ run }) {
  const agent = view('members')[run.agent_id] ?? {};
  const end = run.ended_at ? millis(run.ended_at) : now.value;
  return html`<dl class="facts">
    <${Fact} name=${t('ru.proof')}
      ><${Proof} run=${run} /><//>
    <${Fact} name=${t('ru.program')}>${run.program}<//>
    <${Fact} name=${t('ru.model')}
      >${agent.model ?? html`<span class="t3">${t('ru.model.own')}</span>`}<//
    >
    <${Fact} name=${t('ru.task')}
      >${run.task_id ? html`<${TaskLink} id=${run.task_id} plain />` : t('ag.notask')}<//
    >
    <${Fact} name=${t('ru.began')}
      ><${Time} at=${run.created_at} />${' '}
      <span class="t3">${t('ru.took', { t: span(end - millis(run.created_at)) })}</span><//
    >
    <${Fact} name=${t('ru.tokens.f')}><span class="num">${tokensText(run.tokens)}</span><//>
    <${Fact} name=${t('ru.cost')}><span class="num">${costText(run.cost_usd)}</span><//>
    <${Fact} name=${t('ru.branch')}
      >${run.branch ? html`<code class="ic wrapany">${run.branch}</code>` : html`<span class="t3">${t('ru.branch.none')}</span>`}<//
    >
    ${run.workspace && html`<${Fact} name=${t('ru.dir')}><code class="ic wrapany">${run.workspace}</code><//>`}
    <${Fact} name=${t('ru.id')}><code class="ic wrapany">${run.id}</code><//>
  </dl>`;
}

/** @param {{back: string}} props */
function NoRun({ back }) {
  return html`<div class="screen">
    <${Head} title=${t('ru.title')} back=${back} />
    <div class="body scroll">
      <${Listing}>
        <${Empty} icon="terminal" title=${t('ru.none.t')} text=${t('ru.none.d')}>
          <div class="row"><${LinkButton} href=${back}>${t('nav.agents')}<//></div>
        <//>
      <//>
    </div>
  </div>`;
}
