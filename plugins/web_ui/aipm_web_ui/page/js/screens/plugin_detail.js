// One plugin: what it is for, whether it is well, what hangs on it, and its panels.
import { html, classes, useState } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Visible } from '../ui/text.js';
import { Fact } from '../ui/layout.js';
import { Time } from '../ui/members.js';
import { format } from '../address.js';
import { give } from '../orders.js';
import { canAct, mayOrder, panels, show } from '../store.js';
import { locale, t } from '../texts.js';
import { Slot } from './panel.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @type {Record<string, [string, string]>} */
const STATES = { on: ['check', 'good'], off: ['power', ''], failed: ['alert', 'bad'] };

/** @param {{plugin: Rec}} props */
export const PluginState = ({ plugin }) => {
  const [icon, tone] = STATES[plugin.state];
  return html`<span class=${classes('tag', tone)}
    ><${Icon} name=${icon} size="12" />${t(`pl.${plugin.state}`)}</span
  >`;
};

/** Why it is on or off, in one sentence. @param {Rec} plugin */
export function reasonOf(plugin) {
  if (plugin.state === 'failed') return t('pl.why.failed', { e: plugin.problem ?? '' });
  if (plugin.why === 'settings') return t(`pl.why.settings.${plugin.state}`);
  return t(`pl.why.${plugin.why}`);
}

/** @param {Rec} plugin @returns {string} */
export const summaryOf = (plugin) => plugin.summary[locale()] ?? '';

/** @param {{plugin: Rec}} props */
export function PluginDetail({ plugin }) {
  const on = plugin.state === 'on';
  const shown = panels.value.filter((panel) => panel.plugin === plugin.name);
  const slots = [...new Set(shown.map((panel) => panel.slot))];
  return html`<article class="pl-detail" aria-label=${plugin.name}>
    <header>
      <div class="row wrap">
        <h2 class="mono">${plugin.name}</h2>
        <${PluginState} plugin=${plugin} /><span class="grow"></span>
        <${Button} icon="power" onClick=${() => show('plugin', { plugin })}
          >${t(on ? 'pl.turnoff' : 'pl.turnon')}<//
        >
      </div>
      <p class="lg phrase"><${Visible} text=${summaryOf(plugin)} /></p>
      <p class=${classes('sm', plugin.state === 'failed' ? 'c-bad' : 't2')}>
        <${Visible} text=${reasonOf(plugin)} />
      </p>
    </header>
    <${Slot} slot="plugins" of=${plugin.name} />
    <dl class="facts wide">
      ${on && html`<${Fact} name=${t('pl.health')}><${Health} name=${plugin.name} /><//>`}
      <${Fact} name=${t('pl.version')}
        ><span class="row gap-2"
          ><span class="num">${plugin.version}</span
          ><span class="xs t3 mono">${plugin.distribution}</span></span
        ><//
      >
      <${Names} title=${t('pl.tools')} list=${plugin.tools} />
      <${Names} title=${t('pl.ptools')} list=${plugin.people_tools} />
      <${Links} title=${t('pl.needs')} list=${plugin.requires} />
      <${Links} title=${t('pl.uses')} list=${plugin.uses} />
      <${Links} title=${t('pl.neededby')} list=${plugin.required_by} />
      <${Links} title=${t('pl.usedby')} list=${plugin.used_by} />
      ${slots.length > 0 && html`<${Fact} name=${t('pl.slots')}><span class="row wrap gap-1">${slots.map((slot) => html`<span key=${slot} class="tag">${t(`nav.${slot}`)}</span>`)}</span><//>`}
    </dl>
    ${!plugin.first_party && html`<p class="note"><${Icon} name="shield" size="14" />${t('pl.trust')}</p>`}
  </article>`;
}

/** @param {{title: string, list: string[]}} props */
const Names = ({ title, list }) =>
  list.length > 0 &&
  html`<${Fact} name=${title}
    ><span class="row wrap gap-1"
      >${list.map((name) => html`<code key=${name} class="ic">${name}</code>`)}</span
    ><//
  >`;

/** @param {{title: string, list: string[]}} props */
const Links = ({ title, list }) =>
  list.length > 0 &&
  html`<${Fact} name=${title}
    ><span class="row wrap gap-1"
      >${list.map((name) => html`<a key=${name} class="tag" href=${format('', 'plugins', name)}>${name}</a>`)}</span
    ><//
  >`;

/** @type {Record<string, [string, string]>} */
const FINDINGS = { ok: ['check', 'c-good'], warn: ['alert', 'c-you'], fail: ['alert', 'c-bad'] };

/** It runs; more is known when it was asked. @param {{name: string}} props */
function Health({ name }) {
  const [found, setFound] = useState(/** @type {Rec|null} */ (null));
  const [busy, setBusy] = useState(false);
  const check = async () => {
    setBusy(true);
    setFound(await give('check_plugin', { name }));
    setBusy(false);
  };
  return html`<div class="col gap-2" role="status">
    ${
      found
        ? html`${found.findings.map((/** @type {Rec} */ one) => html`<${Finding} key=${one.name} finding=${one} />`)}
            ${!found.findings.length && html`<span class="sm">${t('pl.nochecks')}</span>`}
            <span class="xs t3"
              >${t('pl.checked')} <${Time} at=${found.checked_at} full
            /></span>`
        : html`<span class="row gap-1 c-good"><${Icon} name="check" size="14" />${t('pl.runs')}</span>`
    }
    ${mayOrder('check_plugin') && html`<div class="row"><${Button} size="small" icon="refresh" busy=${busy} disabled=${!canAct.value} onClick=${check}>${t('pl.check')}<//></div>`}
  </div>`;
}

/** @param {{finding: Rec}} props */
function Finding({ finding }) {
  const [icon, tone] = FINDINGS[finding.status] ?? FINDINGS.fail;
  return html`<span class=${classes('row gap-1', tone)}
      ><${Icon} name=${icon} size="14" /><${Visible} text=${finding.message}
    /></span>
    ${finding.next && html`<span class="xs t2"><${Visible} text=${finding.next} /></span>`}`;
}
