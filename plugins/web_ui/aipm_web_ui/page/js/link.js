// The page's end of the stream: through the shared worker, or directly where there is none.
import { Feed } from './follow.js';

/**
 * @typedef {(project: string, news: import('./follow.js').News) => void} Hear
 * @typedef {{watch: (project: string, token: string) => void, retry: () => void, leave: () => void}} Source
 */

/**
 * @param {Hear} hear
 * @returns {Source}
 */
export function openLink(hear) {
  try {
    return shared(hear);
  } catch {
    return direct(hear);
  }
}

/** @param {Hear} hear @returns {Source} */
function shared(hear) {
  const worker = new SharedWorker(workerAddress(), { type: 'module', name: 'aipm' });
  /** @type {Source|null} */
  let instead = null;
  /** @type {[string, string]|null} */
  let wanted = null;
  worker.onerror = () => {
    instead ??= direct(hear);
    if (wanted) instead.watch(...wanted);
  };
  worker.port.onmessage = ({ data }) => hear(data.project, data);
  const source = {
    /** @param {string} project @param {string} token */
    watch(project, token) {
      wanted = [project, token];
      if (instead) instead.watch(project, token);
      else worker.port.postMessage({ watch: { project, token } });
    },
    retry: () => (instead ? instead.retry() : worker.port.postMessage({ retry: true })),
    leave() {
      wanted = null;
      if (instead) instead.leave();
      else worker.port.postMessage({ bye: true });
    },
  };
  // A page that is put away must not keep a stream alive; one that comes back wants it again.
  addEventListener('pagehide', () => worker.port.postMessage({ bye: true }));
  addEventListener('pageshow', (event) => {
    if (event.persisted && wanted) source.watch(...wanted);
  });
  return source;
}

/** @param {Hear} hear @returns {Source} */
function direct(hear) {
  /** @type {Feed|null} */
  let feed = null;
  return {
    watch(project, token) {
      if (feed && !feed.ended && feed.project === project && feed.token === token) return;
      feed?.end();
      feed = new Feed(project, token, (news) => hear(project, news));
      feed.hearAnnouncements();
      feed.run();
    },
    retry: () => feed?.reconnect(),
    leave: () => feed?.end(),
  };
}

/** Trusted Types want to know who vouches for a script's address: this one function. */
function workerAddress() {
  const address = new URL('./worker.js', import.meta.url).href;
  const types = /** @type {any} */ (globalThis).trustedTypes;
  if (!types) return address;
  return types.createPolicy('aipm-worker', { createScriptURL: () => address }).createScriptURL('');
}
