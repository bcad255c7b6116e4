// Markers at the start of a message: `@@create-task:`, also written with full-width signs.

/** @typedef {'create'|'notify'|'adjust'} Marker */

/** @type {Record<string, Marker>} */
const WORDS = {
  タスク作成: 'create',
  'create-task': 'create',
  タスク通知: 'notify',
  'notify-task': 'notify',
  タスク調整: 'adjust',
  'adjust-task': 'adjust',
};
/** @type {Record<Marker, string>} */
export const TOOLS = {
  create: 'request_task',
  notify: 'notify_task_session',
  adjust: 'update_task_from_chat',
};
/** @type {Record<string, Record<Marker, string>>} */
const WORD_OF = {
  ja: { create: 'タスク作成', notify: 'タスク通知', adjust: 'タスク調整' },
  en: { create: 'create-task', notify: 'notify-task', adjust: 'adjust-task' },
};
const LOOKED_AT = 60;

/**
 * Which marker a message carries.
 * @param {string} text
 * @returns {Marker|null}
 */
export function markerOf(text) {
  const found = /^\s{0,20}[@＠]{2}([^\s:：]{1,20})[:：]/.exec(text.slice(0, LOOKED_AT));
  return found ? (WORDS[found[1].toLowerCase()] ?? null) : null;
}

/**
 * What somebody has typed of a marker up to the caret, or null when it is none.
 * @param {string} text
 * @param {number} caret
 */
export function begun(text, caret) {
  const found = /^\s{0,20}[@＠]{2}([^\s:：]{0,20})$/.exec(
    text.slice(0, Math.min(caret, LOOKED_AT)),
  );
  return found ? found[1].toLowerCase() : null;
}

/**
 * The markers that begin like that, in the words of a language.
 * @param {string} part
 * @param {string} locale
 * @returns {{marker: Marker, word: string}[]}
 */
export function completions(part, locale) {
  const words = WORD_OF[locale] ?? WORD_OF.en;
  return /** @type {Marker[]} */ (Object.keys(TOOLS))
    .filter((marker) =>
      Object.entries(WORDS).some(([word, kind]) => kind === marker && word.startsWith(part)),
    )
    .map((marker) => ({ marker, word: words[marker] }));
}
