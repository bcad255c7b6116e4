// A modal dialog on the native element: focus is kept inside and given back.
import { html, classes, useEffect, useRef } from '../lib.js';
import { Button } from './controls.js';
import { hide } from '../store.js';
import { t } from '../texts.js';

/** @param {any} props */
export function Dialog({ title, onClose = hide, children, cls, footer, lead, bare, readonly }) {
  const ref = useRef(/** @type {HTMLDialogElement|null} */ (null));
  useEffect(() => {
    const dialog = /** @type {HTMLDialogElement} */ (ref.current);
    const before = /** @type {HTMLElement|null} */ (document.activeElement);
    if (!dialog.open) dialog.showModal();
    const first = dialog.querySelector('[data-first]') ?? dialog.querySelector('input, textarea');
    /** @type {HTMLElement|null} */ (first)?.focus();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog
    ref=${ref}
    class=${classes('dialog', cls)}
    aria-label=${title}
    onCancel=${cancel}
    onClick=${(/** @type {Event} */ event) => event.target === ref.current && onClose()}
  >
    ${
      bare
        ? children
        : html`<div class="dialog-in">
            <header>
              <h2>${title}</h2>
              <${Button} kind="ghost" icon="x" label=${t('c.close')} onClick=${onClose} />
            </header>
            <div class="dialog-body scroll" tabindex=${readonly ? 0 : null}>
              ${lead && html`<p class="t2 phrase">${lead}</p>`}${children}
            </div>
            ${footer && html`<footer>${footer}</footer>`}
          </div>`
    }
  </dialog>`;
}

/** A question before something that cannot be undone. @param {any} props */
export function Sure({ title, lead, action, icon, kind = 'danger-solid', onGo, children }) {
  const go = () => {
    hide();
    onGo();
  };
  const footer = html`<${Button} kind="ghost" onClick=${hide} data-first>${t('c.cancel')}<//>
    <${Button} kind=${kind} icon=${icon} onClick=${go}>${action}<//>`;
  return html`<${Dialog} title=${title} lead=${lead} footer=${footer}>${children}<//>`;
}
