// What the page says above and over a screen: connection, announcements, toasts.
import { html, classes } from './lib.js';
import { Button } from './ui/controls.js';
import { Icon } from './ui/icons.js';
import { announcement, link, retryNow } from './store.js';
import { dropToast, said, toasts } from './notices.js';
import { clock, now, t } from './texts.js';

/** What was announced to everybody. */
export const Announcement = () =>
  announcement.value &&
  html`<div class="banner system" role="status">
    <${Icon} name="bell" /><span class="grow pre">${announcement.value}</span>
    <${Button}
      kind="ghost"
      size="small"
      icon="x"
      label=${t('c.close')}
      onClick=${() => (announcement.value = '')}
    />
  </div>`;

export function Banner() {
  const { state, since, retryAt } = link.value;
  if (state !== 'reconnecting' && state !== 'offline') return null;
  const seconds = Math.max(0, Math.ceil(((retryAt ?? now.value) - now.value) / 1000));
  const offline = state === 'offline';
  return html`<div class=${classes('banner', state)} role=${offline ? 'alert' : 'status'}>
    <${Icon} name=${offline ? 'offline' : 'spinner'} />
    <span class="grow">${t(`conn.banner.${state}`, { n: seconds, t: clock(since) })}</span>
    ${offline && html`<span class="nowrap">${t('conn.banner.hint')} <code>aipm up</code></span>`}
    <${Button} size="small" icon="refresh" onClick=${retryNow}>${t('conn.retry')}<//>
  </div>`;
}

export const Toasts = () =>
  html`<div class="toasts" role="region" aria-label=${t('nav.toasts')}>
      ${toasts.value.map(
        (one) =>
          html`<div class=${classes('toast', one.kind)} key=${one.id}>
            <span class="grow">${one.text}</span>
            ${
              one.undo &&
              html`<button
                type="button"
                class="toast-undo"
                onClick=${() => {
                  one.undo?.();
                  dropToast(one.id);
                }}
              >
                ${t('c.undo')}
              </button>`
            }
            <button type="button" aria-label=${t('c.close')} onClick=${() => dropToast(one.id)}>
              <${Icon} name="x" size="14" />
            </button>
          </div>`,
      )}
    </div>
    <div class="sr" role="status" aria-live="polite">${said.value}</div>`;
