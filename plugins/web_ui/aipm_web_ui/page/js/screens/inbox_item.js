// One item of the inbox: everything one must know to answer it, and its outcome afterwards.
import { html, classes } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Menu } from '../ui/menu.js';
import { Icon } from '../ui/icons.js';
import { Countdown, Level, Priority, Purpose, TaskLink, Time, Who } from '../ui/members.js';
import { Markdown, Note, Said } from '../ui/text.js';
import { activity, inbox, people, taskById } from '../records.js';
import { canAct, mayOrder, me, settled } from '../store.js';
import { giveHere } from '../orders.js';
import { clock, hasText, millis, now, stamp, t } from '../texts.js';
import { Confirmation } from './confirmation.js';
import { Answer } from './answer.js';
import { FailedRun } from './failed_run.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @type {Record<string, [string, string]>} */
const ICONS = {
  message: ['question', 'c-you'],
  task_request: ['plus', 'c-accent'],
  blocked: ['blocked', 'c-bad'],
  run: ['terminal', 'c-bad'],
};
/** @param {Rec} item @returns {[string, string]} */
export function iconOf(item) {
  if (item.kind === 'confirmation')
    return item.level === 'CRITICAL' ? ['octagon', 'c-bad'] : ['shield', 'c-you'];
  return ICONS[item.kind] ?? ['bell', 'c-you'];
}

/** @param {Rec} item */
export function titleOf(item) {
  const key = `in.t.${item.kind}`;
  return hasText(key) ? t(key, { a: item.agent_id, tool: item.tool }) : item.title;
}

/** @param {Rec} item */
export function lineOf(item) {
  if (item.kind === 'confirmation') return shortArguments(item);
  if (item.kind === 'message' || item.kind === 'run') return item.detail ?? '';
  return taskById.value[item.task_id]?.title ?? item.title ?? item.detail;
}

/** The arguments in one line, to tell items apart; the whole stands in the item itself.
 * @param {Rec} item */
function shortArguments(item) {
  const values = Object.values(item.arguments ?? {});
  const parts = values.map((value) =>
    Array.isArray(value)
      ? value.join(' ')
      : typeof value === 'object'
        ? JSON.stringify(value)
        : value,
  );
  return parts.join(' · ');
}

const GOOD = ['approved', 'session', 'always', 'answered', 'read', 'created', 'moved', 'started'];
/** What the log of the project says about an item that went without me.
 * @type {Record<string, string>} */
const BY_VERB = {
  'confirmation.approved': 'approved',
  'confirmation.denied': 'denied',
  'confirmation.expired': 'expired',
  'confirmation.cancelled': 'cancelled',
  'task.approved': 'created',
  'task.rejected': 'rejected',
};

/**
 * How an item ended; null while it waits.
 * @param {Rec} item
 * @returns {{text: string, good: boolean, at: number, reason: string}|null}
 */
export function outcomeOf(item) {
  const gone = settled.value[item.id];
  if (!gone || inbox.value.some((one) => one.id === item.id)) return null;
  if (gone.how) return outcome(gone.how, me.value.id, gone.at, gone.reason);
  const line = activity.value.find(
    (one) =>
      BY_VERB[one.verb] &&
      (one.ref?.id === item.id || (item.task_id && one.ref?.id === item.task_id)),
  );
  if (line) return outcome(BY_VERB[line.verb], line.actor_id, millis(line.at), '');
  return outcome('gone', '', gone.at, '');
}

/** @param {string} how @param {string} who @param {number} at @param {string} reason */
const outcome = (how, who, at, reason) => ({
  text: t(`in.done.${how}`, { p: who }),
  good: GOOD.includes(how),
  at,
  reason,
});

/** @param {{item: Rec, onNext: () => void}} props */
export function Item({ item, onNext }) {
  const gone = outcomeOf(item);
  const title = titleOf(item);
  return html`<article class="in-detail" aria-label=${title}>
    <div class="in-scroll scroll">
      <header class="in-head">
        <div class="row wrap in-tags">
          ${item.level && item.kind === 'confirmation' && html`<${Level} level=${item.level} />`}
          ${
            item.deadline &&
            !gone &&
            html`<span class="tag"
              ><${Countdown} from=${item.since} until=${item.deadline}
            /></span>`
          }
          <span class="xs t3"><${Time} at=${item.since} /></span>
          <span class="grow"></span>
          ${!gone && html`<${Later} item=${item} />`}
        </div>
        <h2 tabindex="-1">${title}</h2>
        <div class="row wrap in-links">
          ${item.agent_id && html`<${Who} id=${item.agent_id} bold />`}
          ${item.purpose && html`<${Purpose} purpose=${item.purpose} />`}
          ${item.task_id && html`<${TaskLink} id=${item.task_id} plain />`}
        </div>
        ${item.handed_over_by && html`<${Note} icon="handover">${t('in.handed', { p: item.handed_over_by })} ${item.hand_over_note ?? ''}<//>`}
        ${
          item.snoozed_until &&
          millis(item.snoozed_until) > now.value &&
          html`<${Note} icon="clock"
            >${t('in.snoozed', { t: stamp(millis(item.snoozed_until)) })}<//
          >`
        }
      </header>
      <${Body} item=${item} />
    </div>
    ${gone ? html`<${Outcome} gone=${gone} onNext=${onNext} />` : html`<${Answer} item=${item} />`}
  </article>`;
}

/** @param {{item: Rec}} props */
function Body({ item }) {
  if (item.kind === 'confirmation') return html`<${Confirmation} item=${item} />`;
  if (item.kind === 'task_request') return html`<${Request} item=${item} />`;
  if (item.kind === 'run') return html`<${FailedRun} item=${item} />`;
  const words =
    item.kind === 'message'
      ? item.detail
      : (taskById.value[item.task_id]?.block_reason ?? item.detail);
  return html`<section>
    <h3 class="h">
      ${t(item.kind === 'blocked' ? 'in.block.reason' : 'in.says')}<span class="tag"
        >${t('in.unverified')}</span
      >
    </h3>
    <blockquote class="says big"><${Said} text=${words ?? ''} /></blockquote>
  </section>`;
}

/** @param {{item: Rec}} props */
function Request({ item }) {
  const task = taskById.value[item.task_id] ?? {};
  return html`<section>
      <h3 class="req-title">${task.title ?? item.detail ?? item.title}</h3>
      <${Markdown}
        tree=${item.description_md ?? task.description_md}
        text=${item.description ?? ''}
      />
    </section>
    <section>
      <dl class="facts">
        <div class="fact">
          <dt>${t('in.req.from')}</dt>
          <dd><${Who} id=${item.requester_id ?? task.requester_id} /></dd>
        </div>
        ${
          task.parent_task_id &&
          html`<div class="fact">
            <dt>${t('ta.parent')}</dt>
            <dd><${TaskLink} id=${task.parent_task_id} /></dd>
          </div>`
        }
        <div class="fact">
          <dt>${t('pr.label')}</dt>
          <dd><${Priority} priority=${item.priority ?? 'medium'} text /></dd>
        </div>
      </dl>
    </section>`;
}

const MINUTE = 60_000;
/** Put an item off, or give it to somebody else. @param {{item: Rec}} props */
function Later({ item }) {
  const others = people.value.filter((one) => one.id !== me.value.id);
  const until = (/** @type {number} */ ms) => new Date(Date.now() + ms).toISOString();
  const snooze = (/** @type {number} */ ms) =>
    giveHere('snooze_item', { item_id: item.id, until: until(ms) });
  const items = [
    ...(mayOrder('snooze_item')
      ? [
          { head: t('in.snooze') },
          ...[15, 60, 24 * 60].map((minutes) => ({
            label: t(`in.snooze.${minutes}`),
            icon: 'clock',
            disabled: !canAct.value,
            onSelect: () => snooze(minutes * MINUTE),
          })),
        ]
      : []),
    ...(mayOrder('hand_over_item') && others.length
      ? [
          { head: t('in.handover') },
          ...others.map((one) => ({
            label: one.id,
            icon: 'handover',
            disabled: !canAct.value,
            onSelect: () => giveHere('hand_over_item', { item_id: item.id, to: one.id }),
          })),
        ]
      : []),
  ];
  return items.length ? html`<${Menu} items=${items} label=${t('in.later')} size="small" />` : null;
}

/** @param {any} props */
const Outcome = ({ gone, onNext }) =>
  html`<footer class=${classes('answer', 'outcome', gone.good ? 'good' : 'no')} role="status">
    <${Icon} name=${gone.good ? 'check' : 'x'} size="18" />
    <div class="grow">
      <span class="bold">${gone.text}</span> <span class="t2 num">${clock(gone.at)}</span>
      ${gone.reason && html`<p class="sm t2">“${gone.reason}”</p>`}
    </div>
    <${Button} onClick=${onNext} icon="arrowRight">${t('c.next')}<//>
  </footer>`;
