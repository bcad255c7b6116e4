// What needs a person now: groups on the left, the chosen item with its answer on the right.
import { html, classes, useRef } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Avatar, Countdown, Doing, Level, Purpose, Time } from '../ui/members.js';
import { Empty, Head, Listing, Skeleton, isWide, useTitle } from '../ui/layout.js';
import { useKeys } from '../keys.js';
import { format, goTo, place } from '../address.js';
import { doing, inbox, sessions, snoozed, waiting } from '../records.js';
import { project, settled } from '../store.js';
import { now, t } from '../texts.js';
import { Item, iconOf, lineOf, outcomeOf, titleOf } from './inbox_item.js';

/** @typedef {import('../fold.js').Rec} Rec */

const KINDS = ['confirmation', 'message', 'task_request', 'run', 'blocked'];

/** @param {Rec} item */
const groupOf = (item) => (KINDS.includes(item.kind) ? item.kind : 'other');

/** Open items by kind, then those put off, then what was answered while the page looked.
 * @returns {[string, Rec[]][]} */
function groups() {
  const open = waiting.value;
  const gone = Object.values(settled.value).sort((a, b) => b.at - a.at);
  /** @type {[string, Rec[]][]} */
  const all = [
    ...[...KINDS, 'other'].map(
      (kind) =>
        /** @type {[string, Rec[]]} */ ([kind, open.filter((item) => groupOf(item) === kind)]),
    ),
    ['snoozed', inbox.value.filter(snoozed)],
    [
      'answered',
      gone
        .map(({ record }) => record)
        .filter((item) => !inbox.value.some((one) => one.id === item.id)),
    ],
  ];
  return all.filter(([, items]) => items.length);
}

/** @param {Rec} item */
const addressOf = (item) => format(project.value, 'inbox', item.id);

export function Inbox() {
  const id = place.value.rest[0];
  const shown = groups();
  const flat = shown.flatMap(([, items]) => items);
  const pinned = useRef(/** @type {string|null} */ (null)); // an answer must not swap the item under the reader's eyes
  const wanted = id || pinned.current;
  const current = flat.find((item) => item.id === wanted) ?? (isWide() ? flat[0] : undefined);
  pinned.current = current?.id ?? null;
  const pane = useRef(/** @type {HTMLElement|null} */ (null));
  const opened = !!id && !!current && current.id === id;
  useTitle(t('in.title'));
  useInboxKeys(flat, current, pane);
  const next = () => {
    const other = waiting.value.find((item) => item !== current);
    goTo(other ? addressOf(other) : format(project.value, 'inbox'));
    pinned.current = null;
  };
  const skeleton = html`<div class="split">
    <div class="split-list"><${Skeleton} rows="7" /></div>
    <div class="split-main"></div>
  </div>`;
  return html`<div class=${classes('screen', 'inbox', opened && 'detail-open')}>
    <${Head}
      title=${t('in.title')}
      count=${waiting.value.length || null}
      sub=${t('in.sub')}
      back=${opened ? format(project.value, 'inbox') : null}
    />
    <div class="body">
      <${Listing} items=${flat} skeleton=${skeleton} empty=${html`<${NothingWaits} />`}>
        <div class="split">
          <section class="split-list scroll" aria-label=${t('in.list')}>
            ${shown.map(
              ([group, items]) =>
                html`<section key=${group} class=${classes('in-group', group)}>
                  <h2 class="group-h">
                    ${t(`in.g.${group}`)}<span class="num">${items.length}</span>
                  </h2>
                  <ul>
                    ${items.map((item) => html`<${Row} key=${item.id} item=${item} current=${item === current} />`)}
                  </ul>
                </section>`,
            )}
          </section>
          <div class="split-main" ref=${pane}>
            ${
              current
                ? html`<${Item} key=${current.id} item=${current} onNext=${next} />`
                : html`<${Empty} icon="inbox" title=${t('in.select')} />`
            }
          </div>
        </div>
      <//>
    </div>
  </div>`;
}

/** @param {Rec[]} flat @param {Rec|undefined} current @param {{current: HTMLElement|null}} pane */
function useInboxKeys(flat, current, pane) {
  const step = (/** @type {number} */ by) => {
    const at = current ? flat.indexOf(current) : -1;
    const next = flat[Math.max(0, Math.min(flat.length - 1, at + by))];
    if (!next) return;
    goTo(addressOf(next));
    requestAnimationFrame(() =>
      /** @type {HTMLElement|null} */ (
        document.querySelector('.in-row[aria-current=true]')
      )?.focus(),
    );
  };
  const inRow = (/** @type {KeyboardEvent} */ event) =>
    /** @type {HTMLElement} */ (event.target).closest?.('.in-row');
  const find = (/** @type {string} */ what) =>
    /** @type {HTMLElement|null} */ (pane.current?.querySelector(what) ?? null);
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: (event) => (inRow(event) ? step(1) : false),
    ArrowUp: (event) => (inRow(event) ? step(-1) : false),
    a: () => find('[data-key=approve]')?.focus(),
    d: () => find('[data-key=deny]')?.click(),
    r: () => find('[data-key=reply]')?.focus(),
    Enter: (event) => (inRow(event) ? find('h2')?.focus() : false),
  });
}

/** @param {{item: Rec, current: boolean}} props */
function Row({ item, current }) {
  const gone = outcomeOf(item);
  const [icon, tone] = iconOf(item);
  const link = html`<a
    class=${classes('in-row', gone && 'answered')}
    href=${addressOf(item)}
    aria-current=${current ? 'true' : null}
  >
    <span class=${classes('in-icon', gone ? (gone.good ? 'c-good' : 'c-mute') : tone)}>
      <${Icon} name=${gone ? (gone.good ? 'check' : 'x') : icon} size="18" />
    </span>
    <span class="in-text">
      <span class="in-title">${titleOf(item)}</span>
      <span class=${classes('in-line', 'cut', item.kind === 'confirmation' && !gone && 'mono')}>
        ${gone ? gone.text : lineOf(item)}
      </span>
    </span>
    <span class="in-meta">
      ${
        item.deadline && !gone
          ? html`<${Countdown} from=${item.since} until=${item.deadline} />`
          : html`<span class="xs t3"><${Time} at=${item.since} /></span>`
      }
      ${item.level === 'CRITICAL' && !gone && html`<${Level} level="CRITICAL" />`}
    </span>
  </a>`;
  // The chosen item is the article beside the list; every other one is an article here.
  if (current || gone) return html`<li>${link}</li>`;
  return html`<li>
    <article class="in-short" aria-label=${titleOf(item)}>
      ${link}<span class="in-open"
        ><${Button} size="small" onClick=${() => goTo(addressOf(item))}>${t('in.review')}<//></span
      >
    </article>
  </li>`;
}

function NothingWaits() {
  const busy = sessions.value.filter((one) =>
    ['working', 'waiting'].includes(doing(one, now.value)),
  );
  return html`<div class="scroll fill">
    <${Empty} icon="check" tone="good" title=${t('in.empty.t')} text=${t('in.empty.d')}>
      ${
        busy.length > 0 &&
        html`<div class="meanwhile">
          <h3 class="h">${t('in.empty.now')}</h3>
          ${busy.map(
            (one) =>
              html`<a key=${one.id} class="mean-row" href=${format(project.value, 'agents')}>
                <${Avatar} id=${one.agent_id} size=${24} /><span class="bold">${one.agent_id}</span>
                <${Purpose} purpose=${one.purpose} /><span class="grow"></span>
                <${Doing} doing=${doing(one, now.value)} small />
              </a>`,
          )}
        </div>`
      }
      ${!busy.length && html`<div class="row"><a class="btn" href=${format(project.value, 'start')}>${t('nav.start')}</a></div>`}
    <//>
  </div>`;
}
