// Calls of the server. Every refusal becomes one `Refusal` with the server's own words.

/** What the server did not do, and why. */
export class Refusal extends Error {
  /** @param {string} code @param {number} status @param {string} message */
  constructor(code, status, message) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/**
 * @param {string} path
 * @param {{token?: string|null, body?: unknown, key?: string, method?: string}} [how]
 * @returns {Promise<any>}
 */
export async function call(path, { token, body, key, method } = {}) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (key) headers['Idempotency-Key'] = key;
  const response = await fetch(path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: 'no-store',
    credentials: 'omit',
  }).catch(() => {
    throw new Refusal('unreachable', 0, '');
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const { code = 'unknown', message = '' } = answer.error ?? {};
  throw new Refusal(code, response.status, message);
}

/** A name for one order, so that sending it again after a lost answer has no second effect. */
export const orderKey = () => crypto.randomUUID();

/**
 * Order something and try again while the server cannot be reached: the key makes that safe.
 * @param {string} token
 * @param {string} tool
 * @param {Record<string, unknown>} args
 */
export async function order(token, tool, args) {
  const path = `/api/tools/${encodeURIComponent(tool)}`;
  const how = { token, body: args, key: orderKey() };
  for (let tries = 0; ; tries += 1) {
    try {
      return (await call(path, how)).result;
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 0 || tries >= 2) throw error;
      await new Promise((resolve) => setTimeout(resolve, 400 * (tries + 1)));
    }
  }
}
