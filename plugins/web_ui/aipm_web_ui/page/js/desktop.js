// Outside the page: the tab's icon, and a notice of the system when something waits.
import { effect } from './lib.js';
import { waiting } from './records.js';
import { desktopNotices } from './preferences.js';
import { format } from './address.js';
import { project } from './store.js';
import { lineOf, titleOf } from './screens/inbox_item.js';

/** @param {string} name */
const picture = (name) => new URL(`../img/${name}.svg`, import.meta.url).href;

/** Follow the inbox. */
export function startDesktop() {
  /** @type {Set<string>|null} */
  let known = null;
  effect(() => {
    const items = waiting.value;
    const icon = /** @type {HTMLLinkElement} */ (document.getElementById('favicon'));
    icon.href = picture(items.length ? 'favicon-badge' : 'favicon');
    const fresh = items.filter((item) => known && !known.has(item.id));
    known = new Set(items.map((item) => item.id));
    if (document.hidden && desktopNotices.value) fresh.forEach(notify);
  });
}

/** @param {import('./fold.js').Rec} item */
function notify(item) {
  const notice = new Notification(titleOf(item), {
    body: lineOf(item),
    tag: item.id,
    icon: picture('favicon'),
  });
  notice.onclick = () => {
    window.focus();
    location.hash = format(project.value, 'inbox', item.id);
  };
}
