import assert from 'node:assert/strict';
import { test } from 'node:test';
import { format, parse } from '../../aipm_web_ui/page/js/address.js';

test('every address leads back to where it came from', () => {
  for (const [project, screen, ...rest] of [
    ['shop', 'inbox'],
    ['shop', 'tasks', 'tsk_1'],
    ['ショップ', 'chat', 'worker/1 & co'],
    ['settings', 'board'],
    ['plugins', 'inbox', 'cnf_1'],
    ['', 'settings', 'members'],
    ['', 'plugins', 'tasks'],
  ]) {
    assert.deepEqual(parse(format(project, screen, ...rest)), { project, screen, rest });
  }
});

test('a project alone is its inbox, nothing is nowhere', () => {
  assert.deepEqual(parse('#/shop'), { project: 'shop', screen: 'inbox', rest: [] });
  assert.deepEqual(parse('#/'), { project: '', screen: '', rest: [] });
  assert.deepEqual(parse(''), { project: '', screen: '', rest: [] });
});

test('a broken address is no error', () => {
  assert.deepEqual(parse('#/%E0%A4%A/board'), { project: '%E0%A4%A', screen: 'board', rest: [] });
});
