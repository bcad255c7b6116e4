// The answer stands under what it is about, never beside a shortened form of it.
import { html, useLayoutEffect, useRef, useState } from '../lib.js';
import { Button, LinkButton, TextArea, composing } from '../ui/controls.js';
import { answer } from '../orders.js';
import { answering, canAct, project } from '../store.js';
import { format } from '../address.js';
import { t } from '../texts.js';
import { action, instead, reply, withMore } from './answer_actions.js';
import { YesOrNo } from './yes_or_no.js';

/** @typedef {import('../fold.js').Rec} Rec */

const CHIPS = [1, 2, 3];
/** What became of an item by a plugin's own choice. @type {Record<string, string>} */
const OUTCOMES = { start: 'started', leave: 'left' };

/** @param {{item: Rec}} props */
export function Answer({ item }) {
  const [refusing, setRefusing] = useState(false);
  if (refusing) return html`<${Refuse} item=${item} onBack=${() => setRefusing(false)} />`;
  const refuse = () => setRefusing(true);
  if (item.kind === 'confirmation') return html`<${YesOrNo} item=${item} onRefuse=${refuse} />`;
  if (item.kind === 'task_request') return html`<${Approve} item=${item} onRefuse=${refuse} />`;
  if (item.kind === 'message') return html`<${Reply} item=${item} />`;
  return html`<${Choices} item=${item} />`;
}

/** Deny or reject, with a reason the agent reads. @param {{item: Rec, onBack: () => void}} props */
function Refuse({ item, onBack }) {
  const [reason, setReason] = useState('');
  const box = useRef(/** @type {HTMLElement|null} */ (null));
  useLayoutEffect(() => box.current?.querySelector('textarea')?.focus(), []);
  const request = item.kind === 'task_request';
  const shown = JSON.stringify(item.arguments ?? {}, null, 2);
  const [wanted, setWanted] = useState(/** @type {string|null} */ (null));
  const offers = wanted !== null && wanted.trim() !== shown;
  const other = offers ? instead(item, wanted) : null;
  const found = other ?? action(item, request ? 'reject' : 'deny');
  const busy = !!answering.value[item.id];
  const off = !canAct.value || (offers && !other);
  const send = () =>
    !off &&
    answer(
      item,
      withMore(found, { reason: reason.trim() }),
      request ? 'rejected' : 'denied',
      reason.trim(),
    );
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (composing(event)) return;
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
    if (event.key === 'Escape') {
      event.stopPropagation();
      onBack();
    }
  };
  return html`<footer class="answer deny" ref=${box}>
    <label class="lb">
      ${t('in.deny.reason')}
      <${TextArea}
        value=${reason}
        onInput=${setReason}
        placeholder=${t('in.deny.ph')}
        rows="2"
        onKeyDown=${key}
        maxlength="1000"
      />
    </label>
    ${
      wanted !== null &&
      html`<label class="lb">
        ${t('in.instead')}
        <${TextArea} value=${wanted} onInput=${setWanted} rows="5" spellcheck="false" />
        ${offers && !other && html`<span class="xs bad">${t('in.instead.bad')}</span>`}
      </label>`
    }
    <div class="row wrap">
      ${CHIPS.map(
        (n) =>
          html`<button
            type="button"
            key=${n}
            class="chip"
            onClick=${() => setReason(t(`in.deny.q${n}`))}
          >
            ${t(`in.deny.q${n}`)}
          </button>`,
      )}
      ${wanted === null && item.approvers === 1 && html`<${Button} kind="ghost" icon="edit" onClick=${() => setWanted(shown)}>${t('in.instead.add')}<//>`}
      <span class="grow"></span>
      <${Button} kind="ghost" onClick=${onBack}>${t('c.cancel')}<//>
      <${Button}
        kind="danger-solid"
        icon="x"
        busy=${busy}
        disabled=${off}
        onClick=${send}
      >
        ${t(request ? 'in.req.reject' : 'in.deny.send')}
      <//>
    </div>
  </footer>`;
}

/** @param {{item: Rec, onRefuse: () => void}} props */
const Approve = ({ item, onRefuse }) =>
  html`<footer class="answer">
    <div class="row wrap answer-row">
      <${Button}
        kind="danger"
        icon="x"
        data-key="deny"
        disabled=${!canAct.value}
        onClick=${onRefuse}
        >${t('in.req.reject')}<//
      >
      <span class="grow"></span>
      <${Button}
        kind="primary"
        icon="check"
        data-key="approve"
        busy=${!!answering.value[item.id]}
        disabled=${!canAct.value}
        onClick=${() => answer(item, action(item, 'approve'), 'created')}
      >
        ${t('in.req.approve')}
      <//>
    </div>
  </footer>`;

/** @param {{item: Rec}} props */
function Reply({ item }) {
  const [text, setText] = useState('');
  const busy = !!answering.value[item.id];
  const send = () => {
    if (text.trim())
      answer(
        item,
        reply(item, text.trim()),
        'answered',
        text.trim(),
      );
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (composing(event) || event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    send();
  };
  return html`<footer class="answer">
    <div class="row bottom">
      <${TextArea}
        data-key="reply"
        aria-label=${t('in.reply')}
        placeholder=${t('in.reply.ph', { a: item.agent_id })}
        value=${text}
        onInput=${setText}
        onKeyDown=${key}
      />
      <${Button}
        kind="primary"
        icon="send"
        busy=${busy}
        disabled=${!canAct.value || !text.trim()}
        onClick=${send}
        >${t('in.reply.send')}<//
      >
    </div>
    <div class="row wrap">
      <${LinkButton} kind="ghost" icon="chat" href=${format(project.value, 'chat', item.agent_id)}
        >${t('in.openchat')}<//
      >
      <span class="grow"></span>
      ${
        action(item, 'read') &&
        html`<${Button}
          kind="ghost"
          icon="checks"
          disabled=${!canAct.value || busy}
          onClick=${() => answer(item, action(item, 'read'), 'read')}
        >
          ${t('in.markread')}
        <//>`
      }
    </div>
  </footer>`;
}

/** Whatever else a plugin offers, by the names it gave. @param {{item: Rec}} props */
function Choices({ item }) {
  const offered = item.actions ?? [];
  return html`<footer class="answer">
    <div class="row wrap answer-row">
      ${
        item.agent_id &&
        html`<${LinkButton} icon="chat" href=${format(project.value, 'chat', item.agent_id)}
          >${t('int.message.b')}<//
        >`
      }
      <span class="grow"></span>
      ${offered.map(
        (/** @type {any} */ one, /** @type {number} */ at) =>
          html`<${Button}
            key=${one.name}
            kind=${at === offered.length - 1 && one.name !== 'cancel' ? 'primary' : one.name === 'cancel' ? 'danger' : ''}
            data-key=${one.name === 'resume' ? 'approve' : null}
            busy=${!!answering.value[item.id]}
            disabled=${!canAct.value}
            onClick=${() => answer(item, one, OUTCOMES[one.name] ?? 'moved')}
          >
            ${t(`in.act.${one.name}`)}
          <//>`,
      )}
    </div>
  </footer>`;
}
