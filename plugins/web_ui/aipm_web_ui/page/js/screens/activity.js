// The last things that happened in the project.
import { html, signal } from '../lib.js';
import { Button, Segments } from '../ui/controls.js';
import { Empty, Head, Listing, Skeleton, useTitle } from '../ui/layout.js';
import { activity, members } from '../records.js';
import { clock, day, millis, t } from '../texts.js';
import { ActivityLine } from './activity_line.js';
import { Audit } from './audit.js';
import { Slot } from './panel.js';

/** @typedef {import('../fold.js').Rec} Rec */

const kind = signal('all');
const who = signal('');
const KINDS = ['all', 'confirmation', 'task', 'session', 'message', 'conversation'];

/** @param {Rec[]} lines @returns {[number, Rec[]][]} */
function byHour(lines) {
  /** @type {[number, Rec[]][]} */
  const hours = [];
  for (const line of lines) {
    const hour = new Date(millis(line.at)).setMinutes(0, 0, 0);
    if (hours.at(-1)?.[0] !== hour) hours.push([hour, []]);
    hours.at(-1)?.[1].push(line);
  }
  return hours;
}

export function Activity() {
  const all = activity.value;
  const shown = all.filter(
    (line) =>
      (kind.value === 'all' || line.verb.startsWith(`${kind.value}.`)) &&
      (!who.value || line.actor_id === who.value),
  );
  const clear = () => {
    kind.value = 'all';
    who.value = '';
  };
  useTitle(t('ac.title'));
  return html`<div class="screen">
    <${Head} title=${t('ac.title')} tools=${html`<${Audit} shown=${shown} />`}>
      <${Segments}
        label=${t('c.filter')}
        value=${kind.value}
        onChange=${(/** @type {string} */ value) => (kind.value = value)}
        options=${KINDS.map((value) => ({ value, label: value === 'all' ? t('c.all') : t(`ac.f.${value}`) }))}
      />
      <select
        class="compact"
        aria-label=${t('se2.m.name')}
        value=${who.value}
        onChange=${(/** @type {any} */ event) => (who.value = event.currentTarget.value)}
      >
        <option value="">${t('ac.everyone')}</option>
        ${members.value.map((one) => html`<option key=${one.id} value=${one.id}>${one.id}</option>`)}
      </select>
      <span class="grow"></span
      ><span class="xs t3 num hide-phone">${t('ac.entries', { n: shown.length })}</span>
    <//>
    <div class="body scroll" tabindex="0">
      <${Listing}
        items=${all}
        skeleton=${html`<${Skeleton} rows="9" />`}
        empty=${html`<${Empty} icon="activity" title=${t('ac.empty.t')} text=${t('ac.empty.d')} />`}
      >
        <div class="ac-list">
          <${Slot} slot="activity" />
          ${
            shown.length
              ? byHour(shown).map(
                  ([hour, lines]) =>
                    html`<section key=${hour}>
                      <h2 class="group-h">
                        <span class="num">${clock(hour)}</span><span class="t3">${day(hour)}</span>
                      </h2>
                      <ol>
                        ${lines.map((line) => html`<${ActivityLine} key=${line.id} line=${line} />`)}
                      </ol>
                    </section>`,
                )
              : html`<${Empty} small icon="filter" title=${t('ac.nomatch')}
                  ><div class="row"><${Button} onClick=${clear}>${t('ac.clear')}<//></div><//
                >`
          }
        </div>
      <//>
    </div>
  </div>`;
}
