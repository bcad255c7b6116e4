// Buttons, choices and fields. Each one works by keyboard.
import { html, classes, useLayoutEffect, useRef, useState } from '../lib.js';
import { Icon } from './icons.js';
import { t } from '../texts.js';
import { announce } from '../notices.js';

/** @param {any} props */
export function Button({ kind = '', icon, children, label, busy, cls, size, ...rest }) {
  return html`<button
    type="button"
    class=${classes('btn', kind, size, !children && 'square', cls)}
    aria-label=${label}
    title=${label}
    ...${rest}
    disabled=${rest.disabled || busy}
  >
    ${busy ? html`<${Icon} name="spinner" />` : icon && html`<${Icon} name=${icon} />`}
    ${children && html`<span>${children}</span>`}
  </button>`;
}

/** @param {any} props */
export const LinkButton = ({ href, kind = '', icon, children, cls, ...rest }) =>
  html`<a class=${classes('btn', kind, cls)} href=${href} ...${rest}>
    ${icon && html`<${Icon} name=${icon} />`}<span>${children}</span>
  </a>`;

/** @param {{text: string}} props */
export function Copy({ text }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    announce(t('c.copied'));
    setTimeout(() => setDone(false), 1800);
  };
  return html`<${Button} kind="ghost" size="small" icon=${done ? 'check' : 'copy'} onClick=${copy}>
    ${t(done ? 'c.copied' : 'c.copy')}
  <//>`;
}

/** @param {{keys: string}} props */
export const Keys = ({ keys }) =>
  html`<span class="kbds">
    ${keys
      .split(' ')
      .map((key) =>
        key === '/' && keys.length > 1
          ? html`<span class="t3 xs">/</span>`
          : key === 'then'
            ? html`<span class="t3 xs">${t('he.then')}</span>`
            : html`<kbd>${key}</kbd>`,
      )}
  </span>`;

/** A choice of a few. @param {any} props */
export const Segments = ({ value, options, onChange, label }) =>
  html`<div class="seg" role="group" aria-label=${label}>
    ${options.map(
      (/** @type {any} */ one) =>
        html`<button
          type="button"
          key=${one.value}
          aria-pressed=${String(one.value === value)}
          onClick=${() => onChange(one.value)}
        >
          ${one.icon && html`<${Icon} name=${one.icon} size="14" />`}<span>${one.label}</span>
          ${one.count != null && html`<span class="n num">${one.count}</span>`}
        </button>`,
    )}
  </div>`;

/** @param {any} props */
export function Tabs({ value, tabs, onChange, label }) {
  const box = useRef(/** @type {HTMLElement|null} */ (null));
  const step = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = tabs.findIndex((/** @type {any} */ tab) => tab.id === value);
    onChange(tabs[(at + by + tabs.length) % tabs.length].id);
    requestAnimationFrame(() =>
      /** @type {HTMLElement|null} */ (box.current?.querySelector('[aria-selected=true]'))?.focus(),
    );
  };
  return html`<div
    class="tabs scroll"
    role="tablist"
    aria-label=${label}
    ref=${box}
    onKeyDown=${step}
  >
    ${tabs.map(
      (/** @type {any} */ tab) =>
        html`<button
          type="button"
          key=${tab.id}
          role="tab"
          id=${`tab-${tab.id}`}
          aria-selected=${String(tab.id === value)}
          aria-controls=${`panel-${tab.id}`}
          tabindex=${tab.id === value ? 0 : -1}
          onClick=${() => onChange(tab.id)}
        >
          ${tab.label}${tab.count ? html`<span class="n num">${tab.count}</span>` : ''}
        </button>`,
    )}
  </div>`;
}

/** @param {any} props */
export const Switch = ({ on, onChange, label, disabled }) =>
  html`<button
    type="button"
    role="switch"
    class="switch"
    aria-checked=${String(on)}
    aria-label=${label}
    disabled=${disabled}
    onClick=${() => onChange(!on)}
  >
    <span></span>
  </button>`;

/** Whether a key belongs to a conversion of Japanese text and to nobody else.
 * @param {KeyboardEvent} event */
export const composing = (event) => event.isComposing || event.keyCode === 229;

/** A text area that grows with its text. @param {any} props */
export function TextArea({ value, onInput, inputRef, rows = 1, tallest = 180, ...rest }) {
  const own = useRef(/** @type {HTMLTextAreaElement|null} */ (null));
  const ref = inputRef ?? own;
  useLayoutEffect(() => {
    const element = ref.current;
    element.style.height = 'auto';
    if (element.scrollHeight) {
      element.style.height = `${Math.min(tallest, element.scrollHeight + 2)}px`;
    }
  }, [value]);
  return html`<textarea
    ref=${ref}
    rows=${rows}
    value=${value}
    onInput=${(/** @type {any} */ event) => onInput(event.currentTarget.value, event)}
    ...${rest}
  ></textarea>`;
}

/** @param {any} props */
export const Select = ({ label, value, options, onChange, cls = 'lb' }) =>
  html`<label class=${cls}>
    ${label}
    <select
      value=${value}
      onChange=${(/** @type {any} */ event) => onChange(event.currentTarget.value)}
    >
      ${options.map(
        (/** @type {[string, string]} */ [id, text]) =>
          html`<option key=${id} value=${id}>${text}</option>`,
      )}
    </select>
  </label>`;
