// What switching a plugin means. The page writes no settings: they are reviewed and kept as files.
import { html } from '../lib.js';
import { Dialog } from '../ui/dialog.js';
import { Icon } from '../ui/icons.js';
import { Code, Command } from '../ui/text.js';
import { t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @param {{plugin: Rec}} props */
export function PluginSwitch({ plugin }) {
  const off = plugin.state === 'on';
  const lines = `[plugins.${plugin.name}]\nenabled = ${!off}`;
  return html`<${Dialog}
    title=${t(off ? 'pl.change.t.off' : 'pl.change.t.on', { p: plugin.name })}
    lead=${t('pl.change.d')}
    readonly
  >
    <${Code} copy=${lines} label="aipm.toml">${lines}<//>
    <p class="sm med">${t('pl.restart')}</p>
    <${Command} text="aipm up" />
    ${
      off &&
      plugin.tools.length > 0 &&
      html`<p class="sm med">${t('pl.loses')}</p>
        <p class="row wrap gap-1">
          ${plugin.tools.map((/** @type {string} */ tool) => html`<code key=${tool} class="ic">${tool}</code>`)}
        </p>`
    }
    ${
      off &&
      plugin.required_by.length > 0 &&
      html`<p class="note c-bad">
        <${Icon} name="alert" size="14" />${t('pl.dep.warn', { l: plugin.required_by.join(', ') })}
      </p>`
    }
    ${!off && plugin.requires.length > 0 && html`<p class="note">${t('pl.dep.need', { l: plugin.requires.join(', ') })}</p>`}
    ${!off && !plugin.first_party && html`<p class="note"><${Icon} name="shield" size="14" />${t('pl.trust')}</p>`}
  <//>`;
}
