import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOTHING, fold, foldAll } from '../../aipm_web_ui/page/js/fold.js';

const STATE = { cursor: '7', views: { tasks: { a: { id: 'a', title: 'A' } }, inbox: {} } };
const put = (cursor, view, id, record) => ({ cursor, view, id, record });

test('a state replaces everything', () => {
  const before = fold(NOTHING, { cursor: '1', views: { tasks: { old: { id: 'old' } } } });
  assert.deepEqual(fold(before, STATE), { ...STATE, complete: true });
});

test('a record is put in place, replaced and taken away', () => {
  const world = foldAll(fold(NOTHING, STATE), [
    put('8', 'tasks', 'b', { id: 'b' }),
    put('9', 'tasks', 'a', { id: 'a', title: 'A2' }),
    put('10', 'tasks', 'b', null),
  ]);
  assert.equal(world.cursor, '10');
  assert.deepEqual(world.views.tasks, { a: { id: 'a', title: 'A2' } });
});

test('a view nobody has told about begins with its first record', () => {
  const world = fold(fold(NOTHING, STATE), put('8', 'runs', 'r', { id: 'r' }));
  assert.deepEqual(world.views.runs, { r: { id: 'r' } });
});

test('taking away what is not there changes nothing else', () => {
  const world = fold(fold(NOTHING, STATE), put('8', 'tasks', 'zzz', null));
  assert.deepEqual(world.views.tasks, STATE.views.tasks);
});

test('a resync forgets the place and keeps what is shown', () => {
  const world = fold(fold(NOTHING, STATE), { resync: true });
  assert.equal(world.cursor, null);
  assert.equal(world.complete, true);
  assert.deepEqual(world.views, STATE.views);
});

test('a place alone moves the cursor', () => {
  assert.equal(fold(fold(NOTHING, STATE), { cursor: '12' }).cursor, '12');
});

test('nothing is changed in place, and what did not change is the same object', () => {
  const before = fold(NOTHING, structuredClone(STATE));
  const copy = structuredClone(before);
  const after = fold(before, put('8', 'inbox', 'i', { id: 'i' }));
  assert.deepEqual(before, copy);
  assert.equal(after.views.tasks, before.views.tasks);
  assert.notEqual(after.views.inbox, before.views.inbox);
});

test('any history folded onto an old state is the new state', () => {
  // A small generator of its own: reproducible, and no library for one test.
  let seed = 42;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let run = 0; run < 200; run += 1) {
    const truth = { tasks: {}, inbox: {} };
    const history = [];
    const snapshots = [structuredClone(truth)];
    for (let step = 1; step <= 30; step += 1) {
      const view = ['tasks', 'inbox'][random(2)];
      const id = `x${random(5)}`;
      const record = random(3) ? { id, n: step } : null;
      if (record) truth[view][id] = record;
      else delete truth[view][id];
      history.push(put(String(step), view, id, record));
      snapshots.push(structuredClone(truth));
    }
    const from = random(30);
    const start = fold(NOTHING, { cursor: String(from), views: structuredClone(snapshots[from]) });
    assert.deepEqual(foldAll(start, history.slice(from)).views, truth);
  }
});
