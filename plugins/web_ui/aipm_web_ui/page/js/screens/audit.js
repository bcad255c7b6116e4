// The audit trail: whether its chain is whole, and a copy of it to keep.
import { html, classes, signal } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Visible } from '../ui/text.js';
import { give, giveHere } from '../orders.js';
import { canAct, mayOrder, project } from '../store.js';
import { clock, millis, t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** What the last look found; it holds for the whole server. */
const verified = signal(/** @type {Rec|null} */ (null));
const busy = signal('');
const MOST_PAGES = 100; // of a thousand entries

async function verify() {
  busy.value = 'verify';
  verified.value = (await give('verify_audit', {})) ?? verified.value;
  busy.value = '';
}

/** @param {string} name @param {Rec[]} lines */
function save(name, lines) {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Managers keep the decisions of the project, others what they see. @param {Rec[]} shown */
async function exportAll(shown) {
  if (!mayOrder('list_audit')) return save(`${project.value}-activity.jsonl`, shown);
  busy.value = 'export';
  /** @type {Rec[]} */
  const found = [];
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const before = found.at(-1)?.seq;
    const answer = await giveHere('list_audit', { limit: 1000, ...(before ? { before } : {}) });
    found.push(...(answer?.entries ?? []));
    if (!answer?.has_more) break;
  }
  busy.value = '';
  return save(`${project.value}-audit.jsonl`, found.reverse());
}

/** @param {{shown: Rec[]}} props */
export function Audit({ shown }) {
  const found = verified.value;
  const place = found?.ok ? found.head.split(':')[1] : '';
  return html`<span role="status" class=${classes('sm row gap-1', found && !found.ok && 'c-bad')}>
      ${
        found &&
        html`<${Icon} name=${found.ok ? 'shield' : 'alert'} size="14" />${
          found.ok
            ? html`${t('ac.verified', { t: clock(millis(found.verified_at)), n: found.entries })}
                <code class="xs t3 hide-phone">${place.slice(0, 4)}…${place.slice(-4)}</code>`
            : html`${t('ac.broken')} <${Visible} text=${found.problem ?? ''} />`
        }`
      }
    </span>
    ${mayOrder('verify_audit') && html`<${Button} icon="refresh" label=${t('ac.verify')} busy=${busy.value === 'verify'} disabled=${!canAct.value} onClick=${verify}>${t('ac.verify')}<//>`}
    <${Button}
      icon="download"
      label=${t('ac.export')}
      busy=${busy.value === 'export'}
      disabled=${!canAct.value}
      onClick=${() => exportAll(shown)}
      >${t('ac.export')}<//
    >`;
}
