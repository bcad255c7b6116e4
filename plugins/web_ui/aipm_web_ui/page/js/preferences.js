// What this browser remembers: who is signed in, the theme, the keys. No cookie.
import { signal } from './lib.js';

const query = new URLSearchParams(location.search);

/** @param {string} key @returns {any} */
function kept(key) {
  try {
    return JSON.parse(localStorage.getItem(`aipm.${key}`) ?? 'null');
  } catch {
    return null;
  }
}

/** @param {string} key @param {unknown} value */
function keep(key, value) {
  try {
    if (value === null) localStorage.removeItem(`aipm.${key}`);
    else localStorage.setItem(`aipm.${key}`, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing still works, for this page's life.
  }
}

/**
 * A signal that survives a reload and follows the other tabs.
 * @template T
 * @param {string} key
 * @param {T} initial
 * @param {T|null} [asked] what the address asks for, for this visit only
 * @returns {{value: T, subscribe: (listener: (value: T) => void) => () => void, peek: () => T}}
 */
function remembered(key, initial, asked = null) {
  const own = signal(/** @type {T} */ (asked ?? kept(key) ?? initial));
  let first = true;
  own.subscribe((/** @type {T} */ value) => {
    if (!first) keep(key, value);
    first = false;
  });
  addEventListener('storage', (event) => {
    if (event.key === `aipm.${key}`) own.value = kept(key) ?? initial;
  });
  return own;
}

/** @typedef {{token: string, person: {id: string, name: string, role: string}}} SignIn */

/** Who is signed in here; a new tab finds it, so it needs no new code. */
export const signIn = remembered('signin', /** @type {SignIn|null} */ (null));
/** @type {ReturnType<typeof remembered<'system'|'light'|'dark'>>} */
export const theme = remembered('theme', 'system', /** @type {any} */ (query.get('theme')));
export const contrast = remembered('contrast', /** @type {'system'|'more'} */ ('system'));
export const singleKeys = remembered('keys', true);
export const lastProject = remembered('project', '');
export const desktopNotices = remembered('notices', false);
export const language = remembered('lang', preferredLanguage(), query.get('lang'));

function preferredLanguage() {
  const wanted = (navigator.languages ?? [navigator.language]).map((tag) => tag.slice(0, 2));
  const known = wanted.find((tag) => tag === 'ja' || tag === 'en');
  return known ?? (document.documentElement.lang === 'en' ? 'en' : 'ja');
}

/** A text that is being written, by place: it survives a reload of the tab. */
export const drafts = {
  /** @param {string} place */
  get: (place) => sessionStorage.getItem(`aipm.draft.${place}`) ?? '',
  /** @param {string} place @param {string} text */
  set(place, text) {
    if (text) sessionStorage.setItem(`aipm.draft.${place}`, text);
    else sessionStorage.removeItem(`aipm.draft.${place}`);
  },
};

/** @param {string} name @param {string} value */
function mark(name, value) {
  if (value === 'system') delete document.documentElement.dataset[name];
  else document.documentElement.dataset[name] = value;
}
theme.subscribe((value) => mark('theme', value));
contrast.subscribe((value) => mark('contrast', value));
