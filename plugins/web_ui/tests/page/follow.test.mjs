import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { Feed } from '../../aipm_web_ui/page/js/follow.js';

const plainFetch = globalThis.fetch;
let server;
let answer;
const asked = [];

before(async () => {
  server = createServer((request, response) => {
    asked.push([request.url, request.headers.authorization]);
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${server.address().port}`;
  globalThis.fetch = (path, how) => plainFetch(base + path, how);
});
after(() => {
  server.closeAllConnections();
  server.close();
  globalThis.fetch = plainFetch;
});

const json = (response, body, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};
const change = (cursor, id) => ({ cursor, view: 'tasks', id, record: { id } });
const event = (body) => `id: ${body.cursor ?? ''}\ndata: ${JSON.stringify(body)}\n\n`;

/** Follow until the world fits, then end. */
async function followed(until) {
  asked.length = 0;
  const links = [];
  const feed = new Feed('shop', 'secret', ({ link }) => {
    if (link) links.push(link.state);
    if (until(feed, links)) feed.end();
  });
  await feed.run();
  return { feed, links };
}

test('state first, then the stream behind its cursor, with the token in the header', async () => {
  answer = (request, response) => {
    if (request.url.endsWith('/state')) return json(response, { cursor: '5', views: { tasks: {} } });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.write(event(change('6', 'a')));
  };
  const { feed } = await followed((one) => one.world.cursor === '6');
  assert.deepEqual(feed.world.views.tasks, { a: { id: 'a' } });
  assert.deepEqual(asked, [
    ['/api/projects/shop/state', 'Bearer secret'],
    ['/api/projects/shop/stream?after=5', 'Bearer secret'],
  ]);
});

test('a lost stream goes on where it ended, without a new state', async () => {
  let streams = 0;
  answer = (request, response) => {
    if (request.url.endsWith('/state')) return json(response, { cursor: '5', views: { tasks: {} } });
    streams += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event(change(String(5 + streams), `t${streams}`)));
    return streams === 1 ? response.end() : undefined;
  };
  const { feed, links } = await followed((one) => one.world.cursor === '7');
  assert.deepEqual(Object.keys(feed.world.views.tasks), ['t1', 't2']);
  assert.deepEqual(asked.map(([url]) => url.split('/').at(-1)), ['state', 'stream?after=5', 'stream?after=6']);
  assert.ok(links.includes('reconnecting'));
  assert.equal(links.at(-1), 'live');
});

test('a resync asks for the state again', async () => {
  let states = 0;
  answer = (request, response) => {
    if (request.url.endsWith('/state')) {
      states += 1;
      return json(response, { cursor: `${states}0`, views: { tasks: { [`s${states}`]: {} } } });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.write(states === 1 ? event({ resync: true }) : ': live\n\n');
  };
  const { feed } = await followed((one, links) => one.world.cursor === '20' && links.at(-1) === 'live');
  assert.deepEqual(feed.world.views.tasks, { s2: {} });
});

for (const [status, state] of [
  [401, 'signed_out'],
  [404, 'gone'],
]) {
  test(`${status} is the end: ${state}`, async () => {
    answer = (request, response) => json(response, { error: {} }, status);
    const { links } = await followed(() => false);
    assert.deepEqual(links, [state]);
    assert.equal(asked.length, 1);
  });
}
