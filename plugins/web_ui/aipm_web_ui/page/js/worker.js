// One stream for all tabs: a SharedWorker that follows each project somebody looks at, once.
import { Feed } from './follow.js';

/** @type {Map<string, {feed: Feed, ports: Set<MessagePort>}>} by token and project */
const feeds = new Map();
/** @type {Map<MessagePort, string>} */
const watching = new Map();

const scope = /** @type {any} */ (self);
scope.onconnect = (/** @type {MessageEvent} */ event) => {
  const port = event.ports[0];
  port.onmessage = ({ data }) => {
    if (data.watch) watch(port, data.watch.project, data.watch.token);
    else if (data.retry) feeds.get(watching.get(port) ?? '')?.feed.reconnect();
    else if (data.bye) leave(port);
  };
};

/**
 * @param {MessagePort} port
 * @param {string} project
 * @param {string} token
 */
function watch(port, project, token) {
  const key = `${token} ${project}`;
  if (watching.get(port) === key && feeds.has(key)) return;
  leave(port);
  watching.set(port, key);
  const found = feeds.get(key) ?? begin(key, project, token);
  found.ports.add(port);
  const { world, link } = found.feed;
  if (world.complete) port.postMessage({ project, message: world });
  port.postMessage({ project, link });
}

/**
 * @param {string} key
 * @param {string} project
 * @param {string} token
 */
function begin(key, project, token) {
  /** @type {Set<MessagePort>} */
  const ports = new Set();
  const feed = new Feed(project, token, (news) => {
    for (const port of ports) port.postMessage({ project, ...news });
  });
  const entry = { feed, ports };
  feeds.set(key, entry);
  feed.hearAnnouncements();
  feed.run().finally(() => feeds.get(key) === entry && feeds.delete(key));
  return entry;
}

/** @param {MessagePort} port */
function leave(port) {
  const key = watching.get(port);
  watching.delete(port);
  const entry = feeds.get(key ?? '');
  if (!entry) return;
  entry.ports.delete(port);
  if (entry.ports.size) return;
  feeds.delete(key ?? '');
  entry.feed.end();
}
