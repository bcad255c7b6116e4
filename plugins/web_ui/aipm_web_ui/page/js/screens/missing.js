// Addresses that lead nowhere.
import { html } from '../lib.js';
import { Empty, Head, NotHere, useTitle } from '../ui/layout.js';
import { t } from '../texts.js';

export function Missing() {
  useTitle(t('nf.title'));
  return html`<div class="screen">
    <${Head} title="404" />
    <div class="body"><${NotHere} /></div>
  </div>`;
}

export function NoProject() {
  useTitle(t('np.title'));
  return html`<div class="screen">
    <${Head} title=${t('np.title')} />
    <div class="body scroll"><${Empty} icon="flag" title=${t('np.t')} text=${t('np.d')} /></div>
  </div>`;
}
