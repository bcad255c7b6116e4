// One message and how far it has come: on its way, stored, read.
import { html, classes, useState } from '../lib.js';
import { Button, TextArea, composing } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Avatar, TaskLink } from '../ui/members.js';
import { Said } from '../ui/text.js';
import { member, sessions } from '../records.js';
import { canAct, me } from '../store.js';
import { correct } from '../messages.js';
import { clock, millis, t } from '../texts.js';
import { markerOf } from '../markers.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @param {{message: Rec, all?: boolean, hit?: boolean}} props */
export function Bubble({ message, all, hit }) {
  const mine = message.senderId === me.value.id;
  const [editing, setEditing] = useState(false);
  // Until somebody was given it: the server decides, and says so when it was too late.
  const open =
    mine && message.id && !message.readAt && !message.withdrawnAt && !message.conversationId;
  const marker = member(message.senderId).kind === 'human' ? markerOf(message.content) : null;
  return html`<li class=${classes('bub', mine && 'mine', hit && 'hit')}>
    <${Avatar} id=${message.senderId} size=${24} />
    <div class="bub-in">
      <div class="bub-h">
        <b class="med">${message.senderId}</b>
        ${all && html`<span class="t3">${t('ch.to', { a: message.receiverId })}</span>`}
        <span class="t3 num">${clock(millis(message.createdAt))}</span>
      </div>
      ${
        editing
          ? html`<${Edit} message=${message} onClose=${() => setEditing(false)} />`
          : html`<div class="bub-b">
              ${message.withdrawnAt ? html`<p class="t3 sm">${t('ch.withdrawn')}</p>` : html`<${Said} text=${message.content} />`}
            </div>`
      }
      <div class="bub-f">
        ${marker && html`<span class="tag accent"><${Icon} name="at" size="12" />${t(`ch.m.${marker}`)}</span>`}
        ${message.relatedTaskId && html`<${TaskLink} id=${message.relatedTaskId} plain />`}
        ${message.corrects && html`<span class="xs t3">${t('ch.edited')}</span>`}
        ${member(message.receiverId).kind !== 'human' && !message.withdrawnAt && html`<${Receipt} message=${message} />`}
        ${open && !editing && html`<${Button} kind="ghost" size="small" icon="edit" disabled=${!canAct.value} onClick=${() => setEditing(true)}>${t('ch.edit')}<//><${Button} kind="ghost" size="small" icon="undo" disabled=${!canAct.value} onClick=${() => correct(message)}>${t('ch.withdraw')}<//>`}
      </div>
    </div>
  </li>`;
}

/** @param {{message: Rec, onClose: () => void}} props */
function Edit({ message, onClose }) {
  const [text, setText] = useState(message.content);
  const save = async () => {
    if (text.trim() && text !== message.content) await correct(message, text);
    onClose();
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (composing(event)) return;
    if (event.key === 'Escape') onClose();
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      save();
    }
  };
  return html`<div class="col gap-2">
    <${TextArea}
      value=${text}
      onInput=${setText}
      aria-label=${t('ch.edit')}
      onKeyDown=${key}
      maxlength="4000"
    />
    <div class="row">
      <${Button} size="small" kind="primary" disabled=${!canAct.value} onClick=${save}>${t('c.save')}<//>
      <${Button} size="small" kind="ghost" onClick=${onClose}>${t('c.cancel')}<//>
    </div>
  </div>`;
}

/** @param {{message: Rec}} props */
function Receipt({ message }) {
  const [icon, words] = receipt(message);
  return html`<span class=${classes('receipt', message.readAt && 'read')}
    ><${Icon} name=${icon} size="14" />${words}</span
  >`;
}

/** @param {Rec} message @returns {[string, string]} */
function receipt(message) {
  if (message.waits) return ['clock', t('ch.sendingm')];
  if (message.readAt) return ['checks', t('ch.fetched', { t: clock(millis(message.readAt)) })];
  const listens = sessions.value.some(
    (one) => one.agent_id === message.receiverId && one.purpose === 'chat',
  );
  return listens ? ['check', t('ch.stored')] : ['hourglass', t('ch.queued')];
}
