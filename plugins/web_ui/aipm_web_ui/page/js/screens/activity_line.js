// One line of what happened: who did what, to what, when.
import { html, classes, useState } from '../lib.js';
import { Icon } from '../ui/icons.js';
import { Avatar, Time } from '../ui/members.js';
import { Visible } from '../ui/text.js';
import { format } from '../address.js';
import { project } from '../store.js';
import { hasText, t } from '../texts.js';
import { STATUSES } from '../transitions.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @type {Record<string, [string, string?]>} */
const ICONS = {
  'task.created': ['plus'],
  'task.approved': ['check', 'c-good'],
  'task.rejected': ['x', 'c-bad'],
  'session.opened': ['power', 'c-good'],
  'session.ended': ['logout'],
  'message.sent': ['chat'],
  'confirmation.asked': ['shield', 'c-you'],
  'confirmation.approved': ['check', 'c-good'],
  'confirmation.denied': ['x', 'c-bad'],
  'confirmation.expired': ['hourglass', 'c-bad'],
  'confirmation.cancelled': ['x'],
  'conversation.started': ['talks'],
  'conversation.ended': ['talks'],
};

/** @param {Rec} line */
export function iconOf(line) {
  if (line.verb === 'task.status' && STATUSES.includes(line.to)) return [line.to];
  return ICONS[line.verb] ?? [line.verb.startsWith('task.') ? 'edit' : 'info'];
}

/** @param {Rec} line */
export function sentenceOf(line) {
  const key = `ac.v.${line.verb}`;
  const to = STATUSES.includes(line.to) ? t(`st.${line.to}`) : (line.to ?? '');
  const places = { a: line.actor_id ?? 'aipm', w: line.what ?? '', to, v: line.verb };
  return t(hasText(key) ? key : 'ac.v.other', places);
}

/** @type {Record<string, string>} */
const SCREEN_OF = { tasks: 'tasks', conversations: 'conversations', inbox: 'inbox' };
/** @param {Rec} line */
export const addressOf = (line) =>
  line.ref && SCREEN_OF[line.ref.view]
    ? format(project.value, SCREEN_OF[line.ref.view], line.ref.id)
    : null;

/** @param {{line: Rec, short?: boolean}} props */
export function ActivityLine({ line, short }) {
  const [open, setOpen] = useState(false);
  const [icon, tone] = iconOf(line);
  const address = addressOf(line);
  const drawn = html`<span class=${classes('tl-ic', tone)}><${Icon} name=${icon} size="14" /></span>`;
  if (short)
    return html`<li>
      ${drawn}<span class="sm grow ac-t">${sentenceOf(line)}</span
      ><span class="xs t3"><${Time} at=${line.at} /></span>
    </li>`;
  return html`<li class="ac-row">
    <span class="xs t3"><${Time} at=${line.at} full /></span>${drawn}
    <${Avatar} id=${line.actor_id ?? ''} size=${20} />
    <button
      type="button"
      class="sm grow ac-t"
      aria-expanded=${String(open)}
      onClick=${() => setOpen(!open)}
    >
      ${sentenceOf(line)}
    </button>
    ${address && html`<a class="xs ac-link" href=${address} aria-label=${`${t('c.open')}: ${line.what ?? line.ref.id}`}>${t('c.open')}</a>`}
    ${open && html`<pre class="raw" tabindex="0" aria-label=${t('ac.record')}><${Visible} text=${JSON.stringify(line, null, 2)} /></pre>`}
  </li>`;
}
