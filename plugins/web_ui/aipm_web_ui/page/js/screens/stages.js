// An interrupt in three honest stages; each is shown only when a record proves it.
import { html, classes } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { mayOrder } from '../store.js';
import { now, t } from '../texts.js';

const SILENCE = 30;

/** @param {{stage: import('../records.js').Stage, onForce: () => void}} props */
export function Stages({ stage, onForce }) {
  const last = stage.stage === 'silent' ? 'silent' : 'stopped';
  const order = ['requested', 'stopping', last];
  const at = stage.stage === 'stopping' ? 1 : 2;
  const finished = stage.stage === 'stopped';
  const seconds = Math.max(0, Math.round((now.value - stage.at) / 1000));
  return html`<div class=${classes('stages', stage.stage)}>
    <ol aria-label=${t('int.steps')}>
      ${order.map((name, i) => {
        const past = i < at || finished;
        return html`<li
          key=${name}
          class=${past ? 'past' : i === at ? 'now' : ''}
          aria-current=${i === at ? 'step' : null}
        >
          <span class="dot">
            ${past ? html`<${Icon} name="check" size="12" />` : i === at && html`<${Icon} name=${name === 'silent' ? 'alert' : 'spinner'} size="12" />`}
          </span>
          <span
            >${t(`int.s.${name}`, { n: SILENCE })}${i === at && name === 'stopping' && html` <span class="num t3">${seconds} s</span>`}</span
          >
        </li>`;
      })}
    </ol>
    <p class="xs t2">${t(`int.s.${stage.stage}.d`)}</p>
    ${stage.stage === 'silent' && mayOrder('end_session') && html`<${Button} kind="danger" size="small" icon="power" onClick=${onForce}>${t('int.force')}…<//>`}
  </div>`;
}
