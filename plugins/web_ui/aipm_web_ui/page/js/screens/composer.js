// Writing a message: markers are completed, nothing is sent while Japanese text is converted.
import { html, classes, useRef, useState } from '../lib.js';
import { Button, TextArea, composing } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { drafts } from '../preferences.js';
import { explain } from '../orders.js';
import { toast } from '../notices.js';
import { canAct, project } from '../store.js';
import { say } from '../messages.js';
import { locale, t } from '../texts.js';
import { TOOLS, begun, completions, markerOf } from '../markers.js';

const LONGEST = 4000;
const COUNTED_FROM = 3500;

/** @param {{peer: string, agent: boolean}} props */
export function Composer({ peer, agent }) {
  const draft = `${project.value}/${peer}`;
  const [text, setText] = useState(drafts.get(draft));
  const [caret, setCaret] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [shut, setShut] = useState(false);
  const input = useRef(/** @type {any} */ (null));
  const part = agent && !shut ? begun(text, caret) : null;
  const offered = part === null ? [] : completions(part, locale());
  const marker = agent ? markerOf(text) : null;
  const length = [...text].length;
  const write = (/** @type {string} */ value, /** @type {number} */ at) => {
    setText(value);
    setCaret(at);
    setChosen(0);
    setShut(false);
    drafts.set(draft, value);
  };
  const pick = (/** @type {number} */ at) => {
    const next = `@@${offered[at].word}: `;
    write(next, next.length);
    // At once, not after the next frame: whoever types on must find the caret behind it.
    input.current.value = next;
    input.current.focus();
    input.current.setSelectionRange(next.length, next.length);
  };
  const send = async () => {
    const content = text.trim();
    if (!content || length > LONGEST || !canAct.value) return;
    write('', 0);
    try {
      await say(peer, content);
    } catch (error) {
      write(content, content.length);
      toast(explain(error), { kind: 'bad' });
    }
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (composing(event)) return;
    if (
      offered.length &&
      complete(event, offered.length, chosen, setChosen, pick, () => setShut(true))
    )
      return;
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    send();
  };
  const list = offered.length
    ? { 'aria-controls': 'markers', 'aria-activedescendant': `marker-${chosen}` }
    : {};
  return html`<div class="composer">
    ${offered.length > 0 && html`<${Completions} offered=${offered} chosen=${chosen} peer=${peer} onPick=${pick} onPoint=${setChosen} />`}
    ${
      marker &&
      html`<div class="mk-prev">
        <${Icon} name="at" size="14" />
        <span class="row wrap"
          ><span class="tag accent">${t(`ch.m.${marker}`)}</span
          ><span>${t(`ch.m.${marker}.d`, { a: peer })}</span
          ><span class="t2 xs">${t('ch.preview', { tool: TOOLS[marker] })}</span></span
        >
      </div>`
    }
    <div class="row bottom">
      <${TextArea}
        inputRef=${input}
        value=${text}
        onInput=${(/** @type {string} */ value, /** @type {any} */ event) => write(value, event.currentTarget.selectionStart)}
        onKeyDown=${key}
        placeholder=${t('ch.ph', { a: peer })}
        aria-label=${t('ch.ph', { a: peer })}
        aria-invalid=${length > LONGEST ? 'true' : null}
        ...${list}
      />
      <${Button}
        kind="primary"
        icon="send"
        label=${t('c.send')}
        disabled=${!text.trim() || length > LONGEST || !canAct.value}
        onClick=${send}
      />
    </div>
    <div class="row xs t3 comp-f">
      ${agent && html`<span>${t('ch.markerhint')}</span>`}<span class="grow"></span>
      ${
        length > COUNTED_FROM
          ? html`<span class=${classes('num', length > LONGEST && 'c-bad')}
              >${t(length > LONGEST ? 'ch.toolong' : 'ch.chars', { n: length })}</span
            >`
          : html`<span class="hide-phone">${t('ch.sendkeys')}</span>`
      }
    </div>
  </div>`;
}

/**
 * Keys while completions are open.
 * @param {KeyboardEvent} event @param {number} length @param {number} chosen
 * @param {(at: number) => void} choose @param {(at: number) => void} pick @param {() => void} shut
 */
function complete(event, length, chosen, choose, pick, shut) {
  /** @type {Record<string, () => void>} */
  const does = {
    ArrowDown: () => choose((chosen + 1) % length),
    ArrowUp: () => choose((chosen - 1 + length) % length),
    Enter: () => pick(chosen),
    Tab: () => pick(chosen),
    Escape: shut,
  };
  if (!does[event.key]) return false;
  event.preventDefault();
  event.stopPropagation();
  does[event.key]();
  return true;
}

/** @param {any} props */
const Completions = ({ offered, chosen, peer, onPick, onPoint }) =>
  html`<div class="ac" role="listbox" id="markers" aria-label=${t('ch.markers')}>
    ${offered.map(
      (/** @type {any} */ { marker, word }, /** @type {number} */ at) =>
        html`<div
          key=${marker}
          id=${`marker-${at}`}
          role="option"
          aria-selected=${String(at === chosen)}
          class="ac-i"
          onPointerDown=${(/** @type {Event} */ event) => {
            event.preventDefault();
            onPick(at);
          }}
          onPointerEnter=${() => onPoint(at)}
        >
          <span class="marker">@@${word}:</span
          ><span class="grow sm t2">${t(`ch.m.${marker}.d`, { a: peer })}</span>
          <span class="mono xs t3 hide-phone"
            >${TOOLS[/** @type {import('../markers.js').Marker} */ (marker)]}</span
          >
        </div>`,
    )}
  </div>`;
