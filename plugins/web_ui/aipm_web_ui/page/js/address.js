// Addresses: `/#/shop/board`, `/#/settings`. Each screen can be reloaded, bookmarked and sent.
import { signal } from './lib.js';

/** @typedef {{project: string, screen: string, rest: string[]}} Place */

const OF_NO_PROJECT = ['plugins', 'settings', 'login'];
export const OF_A_PROJECT = [
  'inbox',
  'board',
  'tasks',
  'agents',
  'runs',
  'chat',
  'conversations',
  'activity',
  'start',
];

/**
 * @param {string} hash
 * @returns {Place}
 */
export function parse(hash) {
  const parts = hash.replace(/^#\/?/, '').split('?')[0].split('/').filter(Boolean).map(decoded);
  const [first = '', second = '', ...rest] = parts;
  if (OF_NO_PROJECT.includes(first)) {
    return { project: '', screen: first, rest: second ? [second, ...rest] : [] };
  }
  // A project may be called like a screen; then it wears a tilde.
  const project = first.replace(/^~/, '');
  return { project, screen: second || (project ? 'inbox' : ''), rest };
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * @param {string} project
 * @param {string} screen
 * @param {...(string|null|undefined)} rest
 */
export function format(project, screen, ...rest) {
  const wearing = OF_NO_PROJECT.includes(project) ? `~${project}` : project;
  const parts = OF_NO_PROJECT.includes(screen) ? [screen, ...rest] : [wearing, screen, ...rest];
  return `#/${parts
    .filter(Boolean)
    .map((part) => encodeURIComponent(String(part)))
    .join('/')}`;
}

export const place = signal(parse(globalThis.location?.hash ?? ''));
globalThis.addEventListener?.('hashchange', () => {
  place.value = parse(location.hash);
});

/** @param {string} address */
export const goTo = (address) => {
  location.hash = address;
};

/** Change the address without a step back in the history. @param {string} address */
export const replaceAddress = (address) => {
  history.replaceState(null, '', `${location.pathname}${location.search}${address}`);
  place.value = parse(address);
};
