// Every session of every agent: what it does, what proves it, and the ways to stop it.
import { html, classes } from '../lib.js';
import { Button, LinkButton } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Command } from '../ui/text.js';
import { Empty, Head, Listing, useTitle } from '../ui/layout.js';
import { useKeys } from '../keys.js';
import { format } from '../address.js';
import { agents, doing, projectRecord, sessions } from '../records.js';
import { canAct, mayOrder, project, show } from '../store.js';
import { giveHere } from '../orders.js';
import { costText, runs, tokensText, used } from '../runs.js';
import { now, t } from '../texts.js';
import { Row, failedRun } from './agents_row.js';

/** @typedef {import('../fold.js').Rec} Rec */

const GROUPS = ['you', 'working', 'waiting', 'off'];
/** @type {Record<string, string>} */
const GROUP_OF = {
  needs_you: 'you',
  silent: 'you',
  working: 'working',
  awaiting_confirmation: 'waiting',
  waiting: 'waiting',
  off: 'off',
};

/** Sessions, runs that have none yet, and a line for every agent that has neither. @returns {Rec[]} */
function rows() {
  /** @type {Rec[]} */
  const early = runs.value
    .filter((run) => !run.ended_at && !sessions.value.some((one) => one.id === run.session_id))
    .map((run) => ({ ...run, state: 'run', run, since: run.created_at, last_seen: run.since }));
  const running = new Set([...sessions.value, ...early].map((one) => one.agent_id));
  const idle = agents.value
    .filter((one) => !running.has(one.id))
    .map((one) => ({ id: `off ${one.id}`, agent_id: one.id, purpose: null, state: 'off' }));
  return [...sessions.value, ...early, ...idle].sort((a, b) => (a.agent_id < b.agent_id ? -1 : 1));
}

/** Which group a row stands in: a failed agent is not running, and needs a person. @param {Rec} row */
function groupOf(row) {
  if (row.state === 'run') return 'working';
  if (row.state === 'off' && failedRun(row.agent_id)) return 'you';
  return GROUP_OF[doing(row, now.value)];
}

export function Agents() {
  const all = rows();
  const running = sessions.value.length > 0;
  const total = used(runs.value);
  useTitle(t('ag.title'));
  const step = (/** @type {number} */ by) => {
    const names = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.ag-row .ag-name')]);
    const at = names.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    names[Math.max(0, Math.min(names.length - 1, at + by))]?.focus();
  };
  const focused = () => {
    const id = /** @type {HTMLElement|null} */ (document.activeElement?.closest('[data-session]'))
      ?.dataset.session;
    return sessions.value.find((one) => one.id === id);
  };
  const interrupt = () => {
    const session = focused();
    return session ? show('interrupt', { session: session.id }) : false;
  };
  useKeys({ j: () => step(1), k: () => step(-1), x: interrupt });
  const tools = html`${
      running &&
      mayOrder('notify') &&
      html`<${Button}
        kind="stop"
        icon="pause"
        disabled=${!canAct.value}
        onClick=${() => show('pause_all')}
        >${t('ag.pauseall')}<//
      >`
    } ${
      mayOrder('pause_project') &&
      !projectRecord.value.paused &&
      html`<${Button} icon="pause" disabled=${!canAct.value} onClick=${() => show('pause_project')}
        >${t('ag.pauseproject')}<//
      >`
    } <${LinkButton} icon="plus" href=${format('', 'settings', 'connect')}>${t('ag.connect')}<//>`;
  return html`<div class="screen">
    <${Head}
      title=${t('ag.title')}
      count=${sessions.value.length || null}
      sub=${total.tokens == null && total.cost == null ? null : t('ru.sum', { n: tokensText(total.tokens), c: costText(total.cost) })}
      tools=${tools}
    />
    <div class="body scroll">
      ${projectRecord.value.paused && html`<${Paused} />`}
      <${Listing} items=${all} empty=${html`<${NoAgents} />`}>
        <div class="ag-list">
          ${GROUPS.map((group) => {
            const own = all.filter((one) => groupOf(one) === group);
            return html`<section
              key=${group}
              class=${classes('ag-group', group)}
              aria-label=${t(`ag.g.${group}`)}
            >
              <h2 class="group-h">
                <span class="gdot"></span>${t(`ag.g.${group}`)}<span class="num"
                  >${own.length}</span
                >
              </h2>
              ${
                own.length
                  ? html`<ul>
                      ${own.map((one) => html`<${Row} key=${one.id} session=${one} />`)}
                    </ul>`
                  : html`<p class="ag-none t3 sm">${t('ag.none.g')}</p>`
              }
            </section>`;
          })}
        </div>
      <//>
    </div>
  </div>`;
}

const Paused = () =>
  html`<div class="callout ag-paused" role="status">
    <${Icon} name="pause" /><span class="grow">${t('ru.why.paused')}</span>
    ${mayOrder('resume_project') && html`<${Button} kind="primary" size="small" icon="play" disabled=${!canAct.value} onClick=${() => giveHere('resume_project', {})}>${t('ag.resumeproject')}<//>`}
  </div>`;

const NoAgents = () =>
  html`<${Empty} icon="agents" title=${t('ag.empty.t')} text=${t('ag.empty.d')}>
    <${Command} text=${`aipm agent add worker-1 --project ${project.value}`} />
    <${Command} text="aipm mcp-config --client claude" />
    <div class="row">
      <${LinkButton} kind="primary" href=${format('', 'settings', 'connect')}>${t('ag.connect')}<//>
    </div>
  <//>`;
