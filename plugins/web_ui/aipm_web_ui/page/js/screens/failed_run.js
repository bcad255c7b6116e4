// What the inbox says of a run.
import { html, classes } from '../lib.js';
import { LinkButton } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Fact } from '../ui/layout.js';
import { format } from '../address.js';
import { project } from '../store.js';
import { t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** A run that is not tried again: why, and what to do. @param {{item: Rec}} props */
export const FailedRun = ({ item }) =>
  html`<section class="run-failed">
    <div class=${classes('callout', item.level === 'WARN' && 'bad')}>
      <${Icon} name=${item.level === 'WARN' ? 'alert' : 'stop'} />
      <div>
        <p class="med">${item.detail}</p>
        <p class="sm t2">${item.advice}</p>
      </div>
    </div>
    <dl class="facts">
      <${Fact} name=${t('ru.program')}>${item.program}<//>
      <${Fact} name=${t('ru.tried')}><span class="num">${item.failures}</span><//>
    </dl>
    <div class="row">
      <${LinkButton} icon="terminal" href=${format(project.value, 'runs', item.run_id)}>${t('ru.log.open')}<//>
    </div>
  </section>`;
