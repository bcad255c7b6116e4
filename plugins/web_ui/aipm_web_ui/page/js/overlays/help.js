// The keys, on one page.
import { html } from '../lib.js';
import { Keys } from '../ui/controls.js';
import { Dialog } from '../ui/dialog.js';
import { Note } from '../ui/text.js';
import { t } from '../texts.js';

/** @type {[string, [string, string][]][]} */
const GROUPS = [
  [
    'he.everywhere',
    [
      ['Ctrl K', 'he.palette'],
      ['?', 'he.help'],
      ['/', 'he.search'],
      ['C', 'he.create'],
      ['I / B', 'he.goto'],
      ['G then A C V L P S', 'he.go'],
      ['Esc', 'he.esc'],
    ],
  ],
  [
    'he.lists',
    [
      ['J / K', 'he.jk'],
      ['Enter', 'he.enter'],
    ],
  ],
  [
    'he.inbox',
    [
      ['A', 'he.a'],
      ['D', 'he.d'],
      ['R', 'he.r'],
    ],
  ],
  [
    'he.board',
    [
      ['H / L', 'he.hl'],
      ['Alt ← / →', 'he.alt'],
      ['M', 'he.m'],
    ],
  ],
  ['he.agents', [['X', 'he.int']]],
];

export const Help = () =>
  html`<${Dialog} title=${t('he.title')} cls="help" readonly>
    <div class="he-grid">
      ${GROUPS.map(
        ([group, rows]) =>
          html`<section key=${group}>
            <h3 class="h">${t(group)}</h3>
            <dl>
              ${rows.map(
                ([keys, what]) =>
                  html`<div key=${keys}>
                    <dt>${t(what)}</dt>
                    <dd><${Keys} keys=${keys} /></dd>
                  </div>`,
              )}
            </dl>
          </section>`,
      )}
    </div>
    <${Note}>${t('he.note')}<//>
  <//>`;
