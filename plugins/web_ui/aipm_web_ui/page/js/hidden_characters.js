// Characters one cannot see, or that turn the order of a line around, shown by their code.

const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|\udb40[\udc00-\udfff]|\ud834[\udd73-\udd7a]/g;

/**
 * Cut a text into plain pieces and hidden characters.
 * @param {string} text
 * @returns {{text: string, hidden: boolean}[]}
 */
export function pieces(text) {
  const found = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) found.push({ text: text.slice(from, match.index), hidden: false });
    found.push({ text: codeOf(match[0]), hidden: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), hidden: false });
  return found;
}

/** @param {string} character */
function codeOf(character) {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

/**
 * How many hidden characters any text inside a value holds, names of fields included.
 * @param {unknown} value
 * @returns {number}
 */
export function countHidden(value) {
  if (typeof value === 'string') return (value.match(HIDDEN) ?? []).length;
  if (Array.isArray(value)) return value.reduce((sum, part) => sum + countHidden(part), 0);
  if (value && typeof value === 'object') {
    return Object.entries(value).reduce(
      (sum, [name, part]) => sum + countHidden(name) + countHidden(part),
      0,
    );
  }
  return 0;
}
