// Settings: of this browser, and of the project.
import { html, classes } from '../lib.js';
import { Segments, Switch } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Head, isWide, useTitle } from '../ui/layout.js';
import { format, place } from '../address.js';
import { contrast, desktopNotices, language, singleKeys, theme } from '../preferences.js';
import { projectRecord } from '../records.js';
import { mayOrder, show, canAct } from '../store.js';
import { Button } from '../ui/controls.js';
import { locale, t } from '../texts.js';
import { Connect } from './connect.js';
import { Members } from './members.js';
import { Access } from './access.js';
import { Rules } from './rules.js';

/** @type {[string, string, () => unknown, () => boolean][]} */
const SECTIONS = [
  ['general', 'settings', () => html`<${General} />`, () => true],
  ['members', 'users', () => html`<${Members} />`, () => true],
  ['connect', 'terminal', () => html`<${Connect} />`, () => true],
  ['access', 'key', () => html`<${Access} />`, () => mayOrder('list_tokens')],
  ['rules', 'shield', () => html`<${Rules} />`, () => mayOrder('list_rules')],
  ['notices', 'bell', () => html`<${Notices} />`, () => 'Notification' in globalThis],
];

export function Settings() {
  const asked = place.value.rest[0];
  const sections = SECTIONS.filter(([, , , offered]) => offered());
  const current = sections.find(([name]) => name === asked) ?? (isWide() ? sections[0] : undefined);
  useTitle(t('se2.title'));
  return html`<div class=${classes('screen', 'settings', asked && 'detail-open')}>
    <${Head}
      title=${asked && current && !isWide() ? t(`se2.${current[0]}`) : t('se2.title')}
      back=${asked ? format('', 'settings') : null}
    />
    <div class="body">
      <div class="split narrow">
        <nav class="split-list scroll set-nav" aria-label=${t('se2.title')}>
          ${sections.map(([name, icon]) => html`<a key=${name} href=${format('', 'settings', name)} aria-current=${name === current?.[0] ? 'page' : null}><${Icon} name=${icon} />${t(`se2.${name}`)}</a>`)}
        </nav>
        <div class="split-main scroll" tabindex="0">
          <div class="set">${current && current[2]()}</div>
        </div>
      </div>
    </div>
  </div>`;
}

/** @param {any} props */
export const SettingRow = ({ label, note, children }) =>
  html`<div class="set-row">
    <div class="grow">
      <p class="med">${label}</p>
      ${note && html`<p class="sm t2 phrase">${note}</p>`}
    </div>
    <div class="set-c">${children}</div>
  </div>`;

function General() {
  const themes = [
    { value: 'system', label: t('ap.system') },
    { value: 'light', label: t('ap.light'), icon: 'sun' },
    { value: 'dark', label: t('ap.dark'), icon: 'moon' },
  ];
  const of = projectRecord.value;
  return html`<h2>${t('se2.general')}</h2>
    <div class="set-box">
      <${SettingRow} label=${t('ap.lang')}>
        <${Segments}
          label=${t('ap.lang')}
          value=${locale()}
          onChange=${(/** @type {string} */ value) => (language.value = value)}
          options=${[
            { value: 'ja', label: '日本語' },
            { value: 'en', label: 'English' },
          ]}
        />
      <//>
      <${SettingRow} label=${t('ap.theme')}>
        <${Segments}
          label=${t('ap.theme')}
          value=${theme.value}
          onChange=${(/** @type {any} */ value) => (theme.value = value)}
          options=${themes}
        />
      <//>
      <${SettingRow} label=${t('ap.contrast')}>
        <${Switch}
          label=${t('ap.contrast')}
          on=${contrast.value === 'more'}
          onChange=${(/** @type {boolean} */ on) => (contrast.value = on ? 'more' : 'system')}
        />
      <//>
      <${SettingRow} label=${t('se2.keys')} note=${t('se2.keys.d')}>
        <${Switch}
          label=${t('se2.keys')}
          on=${singleKeys.value}
          onChange=${(/** @type {boolean} */ on) => (singleKeys.value = on)}
        />
      <//>
    </div>
    ${
      of.id &&
      html`<h2>${t('se2.project')}</h2>
        <div class="set-box">
          <${SettingRow} label=${of.name} note=${of.id}>
            ${mayOrder('edit_project') && html`<${Button} icon="edit" disabled=${!canAct.value} onClick=${() => show('project', { id: of.id })}>${t('se2.edit')}<//>`}
          <//>
          <${SettingRow}
            label=${t('se2.dir')}
            note=${t(of.has_directory ? 'se2.dir.yes' : 'se2.dir.no')}
          ><//>
          <${SettingRow} label=${t('se2.pool')} note=${t(of.pool ? 'se2.pool.yes' : 'se2.pool.no')}><//>
        </div>`
    }
    ${mayOrder('create_project') && html`<div class="row"><${Button} icon="plus" disabled=${!canAct.value} onClick=${() => show('project')}>${t('se2.newproject')}<//></div>`}`;
}

function Notices() {
  const allow = async (/** @type {boolean} */ on) => {
    desktopNotices.value = on && (await Notification.requestPermission()) === 'granted';
  };
  return html`<h2>${t('se2.notices')}</h2>
    <div class="set-box">
      <${SettingRow} label=${t('se2.n.desktop')} note=${t('se2.n.desktop.d')}>
        <${Switch} label=${t('se2.n.desktop')} on=${desktopNotices.value} onChange=${allow} />
      <//>
    </div>`;
}
