// A menu at a button: arrows, Home, End and Escape as everywhere.
import { html, classes, useEffect, useId, useLayoutEffect, useRef, useState } from '../lib.js';
import { Button, Keys } from './controls.js';
import { Icon } from './icons.js';
import { t } from '../texts.js';

const LOW = 280;
const CHOICES = '[role^=menuitem]:not([disabled])';

/**
 * @typedef {{label?: string, icon?: string, note?: string|null, kind?: string, keys?: string,
 *   disabled?: boolean, checked?: boolean, onSelect?: () => void, separator?: boolean, head?: string}} Item
 */

/** `items` may be a function: then they are made when the menu opens. @param {any} props */
export function Menu({
  items,
  label,
  icon = 'more',
  button,
  align = 'right',
  kind = 'ghost',
  size,
  openRef,
}) {
  const [at, setAt] = useState(/** @type {{box: DOMRect, up: boolean}|null} */ (null));
  const anchor = useRef(/** @type {HTMLElement|null} */ (null));
  const list = useRef(/** @type {HTMLElement|null} */ (null));
  const id = useId();
  const open = () => {
    const box = /** @type {HTMLElement} */ (anchor.current).getBoundingClientRect();
    setAt({ box, up: innerHeight - box.bottom < LOW && box.top > LOW });
  };
  if (openRef) openRef.current = open;
  const close = (giveBack = true) => {
    setAt(null);
    if (giveBack) anchor.current?.querySelector('button')?.focus();
  };
  useOutside(at, [list, anchor], () => close(false));
  useLayoutEffect(() => {
    if (at) first(list.current)?.focus({ preventScroll: true });
  }, [at]);
  const toggle = (/** @type {Event} */ event) => {
    event.preventDefault();
    event.stopPropagation();
    if (at) close();
    else open();
  };
  const state = {
    'aria-haspopup': 'menu',
    'aria-expanded': String(!!at),
    'aria-controls': at ? id : null,
  };
  return html`<span class="menu-anchor" ref=${anchor}>
    ${
      button
        ? button({ onClick: toggle, ...state })
        : html`<${Button}
            kind=${kind}
            size=${size}
            icon=${icon}
            label=${label || t('c.more')}
            onClick=${toggle}
            ...${state}
          />`
    }
    ${
      at &&
      html`<div
        class="menu"
        id=${id}
        role="menu"
        aria-label=${label || t('c.more')}
        ref=${list}
        style=${placed(at, align)}
        onKeyDown=${(/** @type {KeyboardEvent} */ event) => walk(event, list.current, close)}
      >
        ${(typeof items === 'function' ? items() : items)
          .filter(Boolean)
          .map((/** @type {Item} */ item, /** @type {number} */ key) => Line(item, key, close))}
      </div>`
    }
  </span>`;
}

/** @param {Item} item @param {number} key @param {() => void} close */
function Line(item, key, close) {
  if (item.separator) return html`<div class="sep" role="separator" key=${key}></div>`;
  if (item.head)
    return html`<div class="menu-head" role="presentation" key=${key}>${item.head}</div>`;
  const choose = (/** @type {Event} */ event) => {
    event.preventDefault();
    event.stopPropagation();
    close();
    item.onSelect?.();
  };
  return html`<button
    type="button"
    key=${key}
    role=${item.checked === undefined ? 'menuitem' : 'menuitemradio'}
    aria-checked=${item.checked === undefined ? null : String(item.checked)}
    class=${classes('mi', item.kind)}
    disabled=${item.disabled}
    onClick=${choose}
  >
    ${item.icon ? html`<${Icon} name=${item.icon} />` : html`<span class="mi-space"></span>`}
    <span class="grow">
      <span class="mi-label">${item.label}</span>
      ${item.note && html`<span class="mi-note">${item.note}</span>`}
    </span>
    ${item.checked && html`<${Icon} name="check" />`}${item.keys && html`<${Keys} keys=${item.keys} />`}
  </button>`;
}

/** @param {HTMLElement|null} list */
const choices = (list) =>
  /** @type {HTMLElement[]} */ ([...(list?.querySelectorAll(CHOICES) ?? [])]);
/** @param {HTMLElement|null} list */
const first = (list) => choices(list)[0];

/** @param {KeyboardEvent} event @param {HTMLElement|null} list @param {() => void} close */
function walk(event, list, close) {
  const all = choices(list);
  const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  /** @type {Record<string, () => void>} */
  const does = {
    ArrowDown: () => all[(at + 1) % all.length]?.focus(),
    ArrowUp: () => all[(at - 1 + all.length) % all.length]?.focus(),
    Home: () => all[0]?.focus(),
    End: () => all.at(-1)?.focus(),
    Escape: close,
    Tab: close,
  };
  if (does[event.key]) {
    event.preventDefault();
    does[event.key]();
  }
  event.stopPropagation();
}

/** @param {{box: DOMRect, up: boolean}} at @param {string} align */
function placed({ box, up }, align) {
  const across =
    align === 'right'
      ? { right: `${Math.max(8, innerWidth - box.right)}px` }
      : { left: `${Math.max(8, Math.min(box.left, innerWidth - 260))}px` };
  const down = up ? { bottom: `${innerHeight - box.top + 4}px` } : { top: `${box.bottom + 4}px` };
  return { position: 'fixed', ...across, ...down };
}

/** @param {unknown} on @param {{current: HTMLElement|null}[]} inside @param {() => void} leave */
function useOutside(on, inside, leave) {
  useEffect(() => {
    if (!on) return undefined;
    const pressed = (/** @type {Event} */ event) => {
      const target = /** @type {Node} */ (event.target);
      if (!inside.some(({ current }) => current?.contains(target))) leave();
    };
    addEventListener('pointerdown', pressed, true);
    addEventListener('resize', leave);
    return () => {
      removeEventListener('pointerdown', pressed, true);
      removeEventListener('resize', leave);
    };
  }, [on]);
}
