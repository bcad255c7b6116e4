// What is installed: on, off or failed, and what each plugin shows of itself.
import { html, classes } from '../lib.js';
import { Command } from '../ui/text.js';
import { Empty, Head, Skeleton, isWide, useTitle } from '../ui/layout.js';
import { useKeys } from '../keys.js';
import { format, goTo, place } from '../address.js';
import { useAsked } from '../asked.js';
import { mayOrder } from '../store.js';
import { t } from '../texts.js';
import { PluginDetail, PluginState, reasonOf, summaryOf } from './plugin_detail.js';

/** @typedef {import('../fold.js').Rec} Rec */

export function Plugins() {
  const [answer] = useAsked('list_plugins');
  const list = /** @type {Rec[]|undefined} */ (answer?.plugins);
  const own = (list ?? []).filter((one) => one.first_party);
  const others = (list ?? []).filter((one) => !one.first_party);
  const ordered = [...own, ...others];
  const name = place.value.rest[0];
  const current = ordered.find((one) => one.name === name) ?? (isWide() ? ordered[0] : undefined);
  const step = (/** @type {number} */ by) => {
    const at = current ? ordered.indexOf(current) + by : 0;
    const next = ordered[Math.max(0, Math.min(ordered.length - 1, at))];
    if (next) goTo(format('', 'plugins', next.name));
  };
  useTitle(t('pl.title'));
  useKeys({ j: () => step(1), k: () => step(-1) });
  return html`<div class=${classes('screen', 'plugins', name && 'detail-open')}>
    <${Head}
      title=${name && current && !isWide() ? current.name : t('pl.title')}
      count=${ordered.length || null}
      back=${name ? format('', 'plugins') : null}
    />
    <div class="body">
      ${
        !ordered.length
          ? html`<${NoList} waiting=${!answer && mayOrder('list_plugins')} />`
          : html`<div class="split">
              <nav class="split-list scroll" aria-label=${t('pl.title')}>
                <${Group} title=${t('pl.first')} list=${own} current=${current} />
                <${Group} title=${t('pl.third')} list=${others} current=${current} />
              </nav>
              <div class="split-main scroll" tabindex="0">
                ${current && html`<${PluginDetail} key=${current.name} plugin=${current} />`}
              </div>
            </div>`
      }
    </div>
  </div>`;
}

/** @param {{waiting: boolean}} props */
const NoList = ({ waiting }) =>
  waiting
    ? html`<${Skeleton} rows=${8} />`
    : html`<div class="scroll fill">
        <${Empty} icon="plugins" title=${t('pl.empty.t')} text=${t('pl.empty.d')}>
          <${Command} text="aipm plugins list" />
        <//>
      </div>`;

/** @param {{title: string, list: Rec[], current?: Rec}} props */
const Group = ({ title, list, current }) =>
  list.length > 0 &&
  html`<h2 class="group-h">${title}<span class="num">${list.length}</span></h2>
    <ul>
      ${list.map(
        (one) =>
          html`<li key=${`${one.distribution}/${one.name}`}>
            <a
              class=${classes('pl-row', one.state)}
              href=${format('', 'plugins', one.name)}
              aria-current=${one === current ? 'true' : null}
            >
              <span class="ch-t"
                ><span class="mono sm bold">${one.name}</span
                ><span class="xs t2 cut">${(one.state === 'on' && summaryOf(one)) || reasonOf(one)}</span></span
              ><${PluginState} plugin=${one} />
            </a>
          </li>`,
      )}
    </ul>`;
