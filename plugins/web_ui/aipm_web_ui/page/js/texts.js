// Language, times, numbers. Texts are whole sentences with {places}; nothing is put together.
import { signal } from './lib.js';
import { language } from './preferences.js';

/** @type {Record<string, Record<string, string>>} */
const catalogues = {};
const shown = signal({ locale: 'ja', texts: /** @type {Record<string, string>} */ ({}) });

/** Fetch a language and show it. @param {string} wanted */
export async function speak(wanted) {
  const locale = wanted === 'en' ? 'en' : 'ja';
  catalogues[locale] ??= await (
    await fetch(new URL(`../texts/${locale}.json`, import.meta.url))
  ).json();
  shown.value = { locale, texts: catalogues[locale] };
  document.documentElement.lang = locale;
}

/** Load the first language, then follow the choice. */
export async function startTexts() {
  await speak(language.value);
  language.subscribe((value) => speak(value));
}

export const locale = () => shown.value.locale;

/**
 * @param {string} key
 * @param {Record<string, unknown>} [places]
 */
export function t(key, places) {
  const text = shown.value.texts[key];
  if (text === undefined) return key;
  if (!places) return text;
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(places[name] ?? whole));
}

/** @param {string} key */
export const hasText = (key) => shown.value.texts[key] !== undefined;

/** The clock of the page: once a second, for ages and countdowns. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
document.addEventListener('visibilitychange', () => {
  now.value = Date.now();
});

/** The server's times are ISO texts or seconds; the page counts in milliseconds.
 * @param {string|number|null|undefined} at @returns {number} */
export function millis(at) {
  if (at === null || at === undefined) return NaN;
  return typeof at === 'number' ? at * 1000 : Date.parse(at);
}

/** @param {number} ms @param {Intl.DateTimeFormatOptions} how */
const formatted = (ms, how) =>
  Number.isNaN(ms) ? '—' : new Intl.DateTimeFormat(locale(), how).format(ms);
/** @type {Intl.DateTimeFormatOptions} */
const MINUTES = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
/** @param {number} ms */
export const clock = (ms) => formatted(ms, MINUTES);
/** @param {number} ms */
export const stamp = (ms) => formatted(ms, { month: 'short', day: 'numeric', ...MINUTES });
/** @param {number} ms */
export const day = (ms) => formatted(ms, { weekday: 'short', month: 'short', day: 'numeric' });

/** @param {number} ms */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return t('t.s', { n: seconds });
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t('t.m', { n: minutes });
  const hours = Math.floor(minutes / 60);
  if (hours < 10 && minutes % 60) return t('t.hm', { h: hours, m: minutes % 60 });
  return hours < 48 ? t('t.h', { n: hours }) : t('t.d', { n: Math.floor(hours / 24) });
}
/** @param {number} ms */
export const ago = (ms) =>
  now.value - ms < 3000 ? t('t.now') : t('t.ago', { d: span(now.value - ms) });

/** @param {number} until */
export function left(until) {
  const seconds = Math.max(0, Math.ceil((until - now.value) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
/** @param {number} usd */
export const money = (usd) =>
  new Intl.NumberFormat(locale(), { style: 'currency', currency: 'USD' }).format(usd);
/** @param {number} n */
export const count = (n) => new Intl.NumberFormat(locale()).format(n);
