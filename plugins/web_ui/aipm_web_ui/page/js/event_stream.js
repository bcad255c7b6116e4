// Server-sent events out of a `fetch` body: EventSource cannot send an Authorization header.

/** @typedef {{id: string|null, data: string|null}} Frame */

/**
 * Cut a text stream into frames. Comments and unknown fields count for nothing; an id alone is a
 * place to go on from.
 * @returns {(text: string) => Frame[]} takes a piece, gives the frames it completed
 */
export function eventParser() {
  let rest = '';
  /** @type {string[]} */
  let data = [];
  /** @type {string|null} */
  let id = null;
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    /** @type {Frame[]} */
    const frames = [];
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') {
        if (data.length || id !== null)
          frames.push({ id, data: data.length ? data.join('\n') : null });
        data = [];
        id = null;
      } else if (line.startsWith('id:')) {
        id = line.slice(3).trim();
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
    }
    return frames;
  };
}

/**
 * Read the events of a response until it ends; more than `quiet` ms without a byte ends it too.
 * @param {Response} response
 * @param {(message: any) => void} take one message; `{cursor}` alone moves the place
 * @param {number} quiet
 */
export async function readEvents(response, take, quiet) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decode = new TextDecoder();
  const parse = eventParser();
  for (;;) {
    const timer = setTimeout(() => reader.cancel('quiet'), quiet);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    for (const { id, data } of parse(decode.decode(value, { stream: true }))) {
      take(data === null ? { cursor: id } : JSON.parse(data));
    }
  }
}
