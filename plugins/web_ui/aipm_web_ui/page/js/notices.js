// What the page says by itself: toasts with Undo, and one polite live region.
import { signal } from './lib.js';

/** @typedef {{id: number, text: string, undo: (() => void)|null, kind: 'info'|'bad'}} Toast */

export const toasts = signal(/** @type {Toast[]} */ ([]));
export const said = signal('');
let lastId = 0;
let lastSaid = 0;
const APART = 2000;
const SHOWN = 7000;

/**
 * @param {string} text
 * @param {{undo?: (() => void)|null, kind?: 'info'|'bad'}} [how]
 */
export function toast(text, { undo = null, kind = 'info' } = {}) {
  lastId += 1;
  const id = lastId;
  toasts.value = [...toasts.value.slice(-2), { id, text, undo, kind }];
  announce(text);
  setTimeout(() => dropToast(id), SHOWN);
}

/** @param {number} id */
export const dropToast = (id) => {
  toasts.value = toasts.value.filter((one) => one.id !== id);
};

/** Tell a screen reader, at most one sentence in two seconds. @param {string} text */
export function announce(text) {
  const wait = Math.max(0, lastSaid + APART - Date.now());
  lastSaid = Date.now() + wait;
  setTimeout(() => {
    said.value = text;
  }, wait);
}
