// What would run, argument by argument, exactly as it is stored.
import { html } from '../lib.js';
import { Copy } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Note, Said, Visible } from '../ui/text.js';
import { countHidden } from '../hidden_characters.js';
import { t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @param {unknown} value */
const isCommand = (value) =>
  Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string');

/** @param {{item: Rec}} props */
export function Confirmation({ item }) {
  const exact = item.arguments_json ?? JSON.stringify(item.arguments, null, 2);
  const hidden = countHidden(item.arguments) + countHidden(item.tool);
  const args = Object.entries(item.arguments ?? {});
  return html`<section>
      <h3 class="h">${t('in.what')}<span class="grow"></span><${Copy} text=${exact} /></h3>
      <p class="what-tool">
        <${Icon} name="wrench" size="14" /><code><${Visible} text=${item.tool ?? ''} /></code>
      </p>
      ${
        args.length
          ? args.map(
              ([name, value]) => html`<${Argument} key=${name} name=${name} value=${value} />`,
            )
          : html`<p class="sm t2">${t('in.noargs')}</p>`
      }
      ${
        hidden
          ? html`<${Note} icon="alert" cls="c-bad">${t('in.hidden', { n: hidden })}<//>`
          : html`<${Note} icon="check" cls="c-good">${t('in.clean')}<//>`
      }
    </section>
    <section class="facts2">
      <dl>
        <div>
          <dt>${t('in.digest')}</dt>
          <dd class="mono">${grouped(item.digest)}</dd>
        </div>
        ${
          item.session_id &&
          html`<div>
            <dt>${t('ag.session')}</dt>
            <dd class="mono">${item.session_id}</dd>
          </div>`
        }
      </dl>
    </section>
    <section>
      <h3 class="h">${t('in.why')}</h3>
      ${item.message && html`<p class="sm"><${Visible} text=${item.message} /></p>`}
      ${item.rule && html`<p class="xs t2 mono"><${Visible} text=${ruleText(item.rule)} /></p>`}
    </section>
    ${
      item.words &&
      html`<section>
        <h3 class="h">${t('in.says')}<span class="tag">${t('in.unverified')}</span></h3>
        <blockquote class="says"><${Said} text=${item.words} /></blockquote>
      </section>`
    }
    <details class="rawbox">
      <summary class="sm"><${Icon} name="right" size="14" />${t('in.args.raw')}</summary>
      <pre class="raw" tabindex="0"><${Visible} text=${exact} /></pre>
    </details>`;
}

/** @param {{name: string, value: unknown}} props */
function Argument({ name, value }) {
  const label = html`<p class="arg-name mono xs"><${Visible} text=${name} /></p>`;
  if (isCommand(value)) {
    const parts = /** @type {string[]} */ (value);
    return html`<div class="arg">
      ${label}
      <div class="argv" tabindex="0" role="group" aria-label=${name}>
        <ol>
          ${parts.map(
            (part, at) =>
              html`<li key=${at} class=${at ? '' : 'prog'}>
                <code><${Visible} text=${part} /></code>
              </li>`,
          )}
        </ol>
      </div>
    </div>`;
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return html`<div class="arg">
    ${label}
    <pre class="raw" tabindex="0" aria-label=${name}><${Visible} text=${text} /></pre>
  </div>`;
}

/** @param {string|undefined} digest */
const grouped = (digest) => (digest ?? '—').replace(/[0-9a-f]{8}(?=[0-9a-f])/g, '$& ');

/** @param {unknown} rule */
const ruleText = (rule) =>
  typeof rule === 'string'
    ? rule
    : Object.entries(rule ?? {})
        .filter(([, value]) => value !== null && value !== '')
        .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
        .join('  ');
