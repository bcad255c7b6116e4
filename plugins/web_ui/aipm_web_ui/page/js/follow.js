// Follows one project for as long as somebody looks: state, then its stream, again and again.
import { NOTHING, fold } from './fold.js';
import { readEvents } from './event_stream.js';

/** The server sends a comment every 15 seconds; twice as long without one means it is gone. */
const QUIET = 32_000;
const LONGEST_WAIT = 5_000;
const OFFLINE_AFTER = 3;

/**
 * @typedef {'connecting'|'live'|'reconnecting'|'offline'|'signed_out'|'gone'} LinkState
 * @typedef {{state: LinkState, since: number, retryAt: number|null}} Link
 * @typedef {{message?: import('./fold.js').Message, link?: Link, announced?: string}} News
 */

/** One project's feed. It holds the world, so that whoever joins later gets it at once. */
export class Feed {
  /**
   * @param {string} project
   * @param {string} token
   * @param {(news: News) => void} tell
   */
  constructor(project, token, tell) {
    this.project = project;
    this.token = token;
    this.tell = tell;
    this.world = NOTHING;
    /** @type {Link} */
    this.link = { state: 'connecting', since: Date.now(), retryAt: null };
    this.failures = 0;
    this.ended = false;
    this.wake = () => {};
    this.stop = new AbortController();
    this.announcements = new AbortController();
  }

  /** Follow until `end` is called or the server says that there is nothing to follow. */
  async run() {
    while (!this.ended) {
      try {
        await this.once();
      } catch (error) {
        if (this.ended) return;
        const final = finalState(error);
        if (final) {
          this.ended = true;
          this.setLink(final);
          return;
        }
      }
      if (!this.ended) await this.pause();
    }
  }

  /** Hear what is announced to everybody. Without the plugin that does it there is nothing to hear. */
  async hearAnnouncements() {
    const headers = { Authorization: `Bearer ${this.token}` };
    const how = { headers, signal: this.announcements.signal };
    while (!this.ended) {
      const response = await fetch('/events', how).catch(() => null);
      if (response && !response.ok) return;
      const take = (/** @type {any} */ event) => {
        if (event.type === 'onSystemMessage') this.tell({ announced: event.payload.content });
      };
      if (response) await readEvents(response, take, QUIET).catch(() => {});
      if (!this.ended) await new Promise((resolve) => setTimeout(resolve, LONGEST_WAIT));
    }
  }

  async once() {
    if (this.world.cursor === null) {
      const answer = await this.get('state');
      this.take(await answer.json());
    }
    const after = encodeURIComponent(this.world.cursor ?? '');
    const response = await this.get(`stream?after=${after}`);
    this.failures = 0;
    this.setLink('live');
    await readEvents(response, (message) => this.take(message), QUIET);
  }

  /** @param {string} what */
  async get(what) {
    const address = `/api/projects/${encodeURIComponent(this.project)}/${what}`;
    const response = await fetch(address, {
      headers: { Authorization: `Bearer ${this.token}` },
      cache: 'no-store',
      signal: this.stop.signal,
    });
    if (!response.ok) throw new Refused(response.status);
    return response;
  }

  /** @param {import('./fold.js').Message} message */
  take(message) {
    this.world = fold(this.world, message);
    this.tell({ message });
    if ('resync' in message) this.reconnect();
  }

  /** Drop the connection and come back at once, with a new state if the old one is too old. */
  reconnect() {
    this.stop.abort();
    this.stop = new AbortController();
    this.failures = 0;
    this.wake();
  }

  async pause() {
    if (this.world.cursor === null && this.world.complete && this.failures === 0) return;
    this.failures += 1;
    const wait = Math.min(LONGEST_WAIT, 250 * 2 ** (this.failures - 1));
    this.setLink(this.failures > OFFLINE_AFTER ? 'offline' : 'reconnecting', Date.now() + wait);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
  }

  /**
   * @param {LinkState} state
   * @param {number|null} retryAt
   */
  setLink(state, retryAt = null) {
    const lost = state === 'reconnecting' || state === 'offline';
    const wasLost = this.link.state === 'reconnecting' || this.link.state === 'offline';
    const since = lost && wasLost ? this.link.since : Date.now();
    this.link = { state, since, retryAt };
    this.tell({ link: this.link });
  }

  end() {
    this.ended = true;
    this.stop.abort();
    this.announcements.abort();
    this.wake();
  }
}

class Refused extends Error {
  /** @param {number} status */
  constructor(status) {
    super(`the server answered ${status}`);
    this.status = status;
  }
}

/**
 * @param {unknown} error
 * @returns {LinkState|null}
 */
function finalState(error) {
  if (!(error instanceof Refused)) return null;
  return (
    { 401: /** @type {const} */ ('signed_out'), 404: /** @type {const} */ ('gone') }[
      error.status
    ] ?? null
  );
}
