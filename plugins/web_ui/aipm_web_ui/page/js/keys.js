// Keyboard. One listener; the newest screen is asked first. Silent while somebody types or converts.
import { useEffect, useRef } from './lib.js';
import { overlay, project, show } from './store.js';
import { singleKeys } from './preferences.js';
import { format, goTo } from './address.js';

/** @typedef {Record<string, (event: KeyboardEvent) => unknown>} KeyMap */

/** @type {{current: KeyMap}[]} */
const stack = [];

/** Take keys while a component is there. A handler that answers false leaves the key to others.
 * @param {KeyMap} map */
export function useKeys(map) {
  const ref = useRef(map);
  ref.current = map;
  useEffect(() => {
    stack.push(ref);
    return () => {
      stack.splice(stack.indexOf(ref), 1);
    };
  }, []);
}

/** @type {Record<string, string>} */
const SCREENS = {
  a: 'agents',
  c: 'chat',
  v: 'conversations',
  l: 'activity',
  p: 'plugins',
  s: 'settings',
  i: 'inbox',
  b: 'board',
};
/** @param {string} screen */
const open = (screen) => goTo(format(project.value, screen));
/** @type {KeyMap} */
const EVERYWHERE = {
  '?': () => show('help'),
  '/': () => show('palette'),
  c: () => show('create'),
  i: () => open('inbox'),
  b: () => open('board'),
};
const PATIENCE = 1200;
let prefixed = 0;

/** @param {KeyboardEvent} event */
function busy(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const typing = target.closest?.('input, textarea, select, [contenteditable]');
  const converting = event.isComposing || event.keyCode === 229;
  return typing || converting || overlay.value || document.querySelector('.menu');
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    show('palette');
    return;
  }
  if (busy(event) || event.ctrlKey || event.metaKey) return;
  if (!singleKeys.value && event.key.length === 1 && !event.altKey) return;
  if (handled(event)) event.preventDefault();
}

/** @param {KeyboardEvent} event */
function handled(event) {
  const second = Date.now() - prefixed < PATIENCE && SCREENS[event.key];
  prefixed = 0;
  if (second) {
    open(second);
    return true;
  }
  if (event.key === 'g' && !event.altKey) {
    prefixed = Date.now();
    return true;
  }
  const name = event.altKey ? `Alt+${event.key}` : event.key;
  for (const { current } of [...stack].reverse()) {
    if (current[name] && current[name](event) !== false) return true;
  }
  EVERYWHERE[name]?.(event);
  return name in EVERYWHERE;
}

addEventListener('keydown', pressed);
