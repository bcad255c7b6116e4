import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventParser } from '../../aipm_web_ui/page/js/event_stream.js';
import { MOVES, STATUSES, whyNot } from '../../aipm_web_ui/page/js/transitions.js';
import { begun, completions, markerOf } from '../../aipm_web_ui/page/js/markers.js';
import { countHidden, pieces } from '../../aipm_web_ui/page/js/hidden_characters.js';

test('events are cut however the bytes come', () => {
  const text = ': hi\n\nid: 5\ndata: {"a":1}\n\ndata: x\ndata: y\r\n\r\n: .\n\nid: 9\n\n';
  const wanted = [
    { id: '5', data: '{"a":1}' },
    { id: null, data: 'x\ny' },
    { id: '9', data: null },
  ];
  for (let size = 1; size <= text.length; size += 1) {
    const parse = eventParser();
    const found = [];
    for (let at = 0; at < text.length; at += size) found.push(...parse(text.slice(at, at + size)));
    assert.deepEqual(found, wanted, `pieces of ${size}`);
  }
});

test('an event that did not end is not told', () => {
  assert.deepEqual(eventParser()('data: {"half":'), []);
});

test('why a task cannot be moved', () => {
  const task = (status, approval_status = 'approved') => ({ status, approval_status });
  const free = { waitsFor: 0, parentStopped: false, openBelow: 0 };
  assert.equal(whyNot(task('todo'), 'todo', free), 'same');
  assert.equal(whyNot(task('done'), 'todo', free), 'final');
  assert.equal(whyNot(task('todo'), 'done', free), 'transition');
  assert.equal(whyNot(task('todo'), 'in_progress', { ...free, waitsFor: 2 }), 'dependencies');
  assert.equal(whyNot(task('todo'), 'in_progress', { ...free, parentStopped: true }), 'parent');
  assert.equal(whyNot(task('in_progress'), 'done', { ...free, openBelow: 1 }), 'children');
  assert.equal(whyNot(task('todo'), 'cancelled', { waitsFor: 2, parentStopped: true, openBelow: 1 }), null);
  assert.equal(whyNot(task('backlog', 'pending_approval'), 'in_progress', free), 'approval');
  assert.equal(whyNot(task('backlog', 'pending_approval'), 'todo', free), null);
  for (const from of STATUSES) {
    for (const to of STATUSES) {
      if (from !== to) assert.equal(whyNot(task(from), to, free) === null, MOVES[from].includes(to));
    }
  }
});

test('markers, in both scripts', () => {
  assert.equal(markerOf('@@create-task: now'), 'create');
  assert.equal(markerOf('＠＠タスク通知：急ぎ'), 'notify');
  assert.equal(markerOf(' @＠Adjust-Task: x'), 'adjust');
  assert.equal(markerOf('please @@create-task: now'), null);
  assert.equal(markerOf('@@nothing: x'), null);
  assert.equal(markerOf('@@create-task now'), null);
});

test('completion begins with two signs at the start', () => {
  assert.equal(begun('＠＠', 2), '');
  assert.equal(begun('@@タスク', 5), 'タスク');
  assert.equal(begun('x @@', 4), null);
  assert.equal(begun('@@create-task:', 14), null);
  assert.deepEqual(completions('タスク通', 'ja'), [{ marker: 'notify', word: 'タスク通知' }]);
  assert.equal(completions('', 'en').length, 3);
  assert.equal(completions('zzz', 'en').length, 0);
});

test('what cannot be seen is shown by its code', () => {
  assert.deepEqual(pieces('a\u202eb'), [
    { text: 'a', hidden: false },
    { text: 'U+202E', hidden: true },
    { text: 'b', hidden: false },
  ]);
  assert.deepEqual(pieces('日本語\tok\n'), [{ text: '日本語\tok\n', hidden: false }]);
  assert.equal(pieces('\u{e0041}')[0].text, 'U+E0041');
  assert.equal(countHidden({ 'na\u200bme': ['x\u0000', { y: '\ufeff' }], n: 3 }), 3);
  assert.equal(countHidden({ plain: 'text' }), 0);
});
