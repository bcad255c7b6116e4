// People, agents, tasks and their states, each with shape, words and colour.
import { html, classes } from '../lib.js';
import { Icon } from './icons.js';
import { member, taskById } from '../records.js';
import { project } from '../store.js';
import { format } from '../address.js';
import { stateOf } from '../runs.js';
import { ago, clock, left, millis, now, stamp, t } from '../texts.js';

const HUES = 6;

/** @param {string} id */
function hueOf(id) {
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return (sum % HUES) + 1;
}

/** @param {import('../fold.js').Rec} one */
function initials(one) {
  if (one.kind === 'human') return [...(one.name || one.id)][0]?.toUpperCase() ?? '·';
  const digits = /(\d{1,2})\D*$/.exec(one.id)?.[1];
  return digits ? `${one.id[0]}${digits}` : one.id.slice(0, 2);
}

/** People are round, agents are square: the kind is visible without colour.
 * @param {{id: string, size?: number}} props */
export function Avatar({ id, size = 20 }) {
  const one = member(id);
  const style = { '--sz': `${size}px` };
  if (one.kind === 'unknown') {
    return html`<span class="av sys" style=${style} aria-hidden="true">
      <${Icon} name="settings" size=${Math.round(size * 0.6)} />
    </span>`;
  }
  return html`<span
    class=${classes('av', one.kind, `h${hueOf(id)}`)}
    style=${style}
    aria-hidden="true"
  >
    ${initials(one)}
  </span>`;
}

/** @param {{id: string, size?: number, bold?: boolean}} props */
export const Who = ({ id, size = 18, bold }) =>
  html`<span class="who">
    <${Avatar} id=${id} size=${size} /><span class=${bold ? 'bold' : ''}>${id}</span>
  </span>`;

/** @param {{purpose: string}} props */
export const Purpose = ({ purpose }) =>
  html`<span class="tag">
    <${Icon} name=${purpose === 'task' ? 'terminal' : 'chat'} size="12" />${t(`purpose.${purpose}`)}
  </span>`;

/** @param {{status: string, text?: boolean}} props */
export const Status = ({ status, text = true }) =>
  html`<span class=${classes('status', status)}>
    <${Icon} name=${status} label=${text ? null : t(`st.${status}`)} />
    ${text && html`<span>${t(`st.${status}`)}</span>`}
  </span>`;

/** @param {{priority: string, text?: boolean}} props */
export function Priority({ priority, text = false }) {
  const words = t(`pr.${priority}`);
  const label = text ? null : `${t('pr.label')}: ${words}`;
  return html`<span class=${classes('prio', priority)} title=${label}>
    <${Icon} name=${priority} size="14" label=${label} />${text && html`<span>${words}</span>`}
  </span>`;
}

/** @type {Record<string, [string, string, boolean?]>} */
const DOING = {
  needs_you: ['shield', 'you'],
  awaiting_confirmation: ['shield', 'mute'],
  working: ['wrench', 'work', true],
  waiting: ['clock', 'mute'],
  silent: ['hourglass', 'bad'],
  stopping: ['hand', 'you'],
  off: ['power', 'mute'],
};
/** @param {{doing: string, small?: boolean}} props */
export function Doing({ doing, small }) {
  const [icon, tone, alive] = DOING[doing] ?? DOING.waiting;
  return html`<span class=${classes('sstate', tone, alive && 'alive')}>
    <${Icon} name=${icon} size=${small ? 14 : 16} /><span>${t(`ss.${doing}`)}</span>
  </span>`;
}

/** @param {{run: import('../fold.js').Rec, small?: boolean}} props */
export function RunState({ run, small }) {
  const [icon, tone, text, alive] = stateOf(run);
  return html`<span class=${classes('sstate', tone, alive && 'alive')}>
    <${Icon} name=${icon} size=${small ? 14 : 16} /><span>${text}</span>
  </span>`;
}

const SHORT = 10;
/** Enough of an id to tell things apart. @param {string} id */
export const shortId = (id) => (id.length > SHORT ? `${id.slice(0, SHORT)}…` : id);

/** @param {{id: string, plain?: boolean}} props */
export function TaskLink({ id, plain }) {
  const task = taskById.value[id];
  if (!task) return html`<span class="t3 mono xs">${id}</span>`;
  return html`<a class="tasklink" href=${format(project.value, 'tasks', id)}>
    <${Status} status=${task.status} text=${false} /><span class="cut">${task.title}</span>
    ${!plain && html`<span class="mono xs t3 nowrap" title=${id}>${shortId(id)}</span>`}
  </a>`;
}

/** @param {{at: string|number|null|undefined, full?: boolean}} props */
export function Time({ at, full }) {
  const ms = millis(at);
  if (Number.isNaN(ms)) return html`<span class="t3">—</span>`;
  return html`<time datetime=${new Date(ms).toISOString()} title=${stamp(ms)} class="num nowrap">
    ${full ? clock(ms) : ago(ms)}
  </time>`;
}

const CIRCLE = 2 * Math.PI * 6;
/** @param {{from: string|number, until: string|number}} props */
export function Countdown({ from, until }) {
  const end = millis(until);
  const remains = end - now.value;
  const share = Math.max(0, Math.min(1, remains / Math.max(1, end - millis(from))));
  return html`<span
    class=${classes('count', remains < 60_000 && 'low')}
    title=${t('in.expires', { t: left(end) })}
  >
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="6" class="track" />
      <circle
        cx="8"
        cy="8"
        r="6"
        class="left"
        stroke-dasharray=${`${CIRCLE * share} ${CIRCLE}`}
        transform="rotate(-90 8 8)"
      />
    </svg>
    <span class="sr">${t('in.expires', { t: '' })}</span><span class="num">${left(end)}</span>
  </span>`;
}

/** @param {{level: string}} props */
export const Level = ({ level }) =>
  html`<span class=${classes('level', level)}>
    <${Icon}
      name=${level === 'CRITICAL' ? 'octagon' : level === 'WARN' ? 'alert' : 'info'}
      size="14"
    />
    ${t(`in.level.${level}`)}
  </span>`;
