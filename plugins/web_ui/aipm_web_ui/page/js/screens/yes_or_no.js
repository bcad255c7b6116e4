// A yes to exactly what is shown, for once, for the session or for always; or a no.
import { html, classes, useEffect, useState } from '../lib.js';
import { Button, TextArea } from '../ui/controls.js';
import { Menu } from '../ui/menu.js';
import { Note } from '../ui/text.js';
import { answer } from '../orders.js';
import { answering, canAct } from '../store.js';
import { t } from '../texts.js';
import { action, withMore } from './answer_actions.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** A person reads before a critical yes: the button opens after this time. */
const READING = 1500;

/** @param {{item: Rec, onRefuse: () => void}} props */
export function YesOrNo({ item, onRefuse }) {
  const critical = item.level === 'CRITICAL';
  const [ready, setReady] = useState(!critical);
  const [noting, setNoting] = useState(false);
  const [note, setNote] = useState('');
  useEffect(() => {
    if (ready) return undefined;
    const timer = setTimeout(() => setReady(true), READING);
    return () => clearTimeout(timer);
  }, []);
  const busy = !!answering.value[item.id];
  const off = !canAct.value || busy || !ready;
  const yes = (/** @type {string} */ name, /** @type {string} */ how) =>
    answer(item, withMore(action(item, name), { note: note.trim() }), how, note.trim());
  /** @type {[string, string, string, string][]} */
  const scopes = [
    ['approve', 'approved', 'in.approve', 'in.binding'],
    [
      'approve_session',
      'session',
      'in.approve.session',
      critical ? 'in.approve.session.crit' : 'in.approve.session.d',
    ],
    [
      'approve_always',
      'always',
      'in.approve.always',
      critical ? 'in.approve.always.crit' : 'in.approve.always.d',
    ],
  ];
  const choices = scopes
    .filter(([name]) => action(item, name))
    .map(([name, how, label, text]) => ({
      label: t(label),
      icon: name === 'approve' ? 'check' : 'clock',
      note: t(text),
      disabled: off,
      onSelect: () => yes(name, how),
    }));
  return html`<footer class="answer">
    ${
      noting &&
      html`<label class="lb">
        ${t('in.note')}
        <${TextArea}
          value=${note}
          onInput=${setNote}
          rows="2"
          maxlength="1000"
          placeholder=${t('in.note.ph')}
        />
      </label>`
    }
    <${Note} icon="lock">${t('in.binding')}<//>
    <div class="row wrap answer-row">
      <${Button}
        kind="danger"
        icon="x"
        data-key="deny"
        disabled=${!canAct.value || busy}
        onClick=${onRefuse}
        >${t('in.deny')}<//
      >
      ${!noting && html`<${Button} kind="ghost" icon="edit" onClick=${() => setNoting(true)}>${t('in.note.add')}<//>`}
      <span class="grow"></span>
      <span class="splitbtn">
        <${Button}
          kind="primary"
          icon=${ready ? 'check' : 'eye'}
          data-key="approve"
          busy=${busy}
          disabled=${off}
          cls=${classes(!ready && 'reading')}
          onClick=${() => yes('approve', 'approved')}
        >
          ${t(busy ? 'in.waiting.server' : ready ? 'in.approve' : 'in.read')}
        <//>
        ${choices.length > 1 && html`<${Menu} kind="primary" icon="down" label=${t('in.approve.more')} items=${choices} />`}
      </span>
    </div>
  </footer>`;
}
