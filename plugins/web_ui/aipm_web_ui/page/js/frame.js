// What stands around every screen: the side, and the bar of a phone.
import { html, classes } from './lib.js';
import { Keys } from './ui/controls.js';
import { Menu } from './ui/menu.js';
import { Icon, Logo } from './ui/icons.js';
import { Avatar, Doing } from './ui/members.js';
import { format, goTo, place } from './address.js';
import { doing, projectRecord, sessions, taskById, waiting } from './records.js';
import { link, me, project, projects, show, signOut } from './store.js';
import { language, theme } from './preferences.js';
import { clock, locale, now, t } from './texts.js';
import { ofProject, ofServer } from './navigation.js';

/** @param {string} screen */
const isHere = (screen) =>
  place.value.screen === screen || (screen === 'board' && place.value.screen === 'tasks');

/** @param {{screen: string, icon: string}} props */
const NavLink = ({ screen, icon }) =>
  html`<a href=${format(project.value, screen)} aria-current=${isHere(screen) ? 'page' : null}>
    <${Icon} name=${icon} /><span>${t(`nav.${screen}`)}</span><${Count} screen=${screen} />
  </a>`;

/** @param {{screen: string}} props */
function Count({ screen }) {
  if (screen === 'inbox' && waiting.value.length)
    return html`<span class="n you num">${waiting.value.length}</span>`;
  if (screen !== 'agents') return null;
  const busy = sessions.value.filter((one) => doing(one, now.value) === 'working').length;
  return busy ? html`<span class="n quiet num">${busy}</span>` : null;
}

export function Side() {
  return html`<aside class="side" aria-label=${t('nav.side')}>
    <div class="side-top"><${Logo} /><${ProjectSwitch} /></div>
    <button type="button" class="find" onClick=${() => show('palette')}>
      <${Icon} name="search" size="14" />${t('nav.search')}<${Keys} keys="Ctrl K" />
    </button>
    <nav class="nav" aria-label=${t('nav.main')}>
      ${ofProject().map((one) => html`<${NavLink} key=${one.screen} ...${one} />`)}
    </nav>
    <nav class="nav" aria-label=${t('nav.server')}>
      ${ofServer().map((one) => html`<${NavLink} key=${one.screen} ...${one} />`)}
    </nav>
    <${MissingSessions} />
    <div class="side-foot">
      <${Menu}
        align="left"
        label=${t('nav.account')}
        items=${accountItems()}
        button=${(/** @type {any} */ props) => html`<button type="button" class="btn ghost account" ...${props}><${Avatar} id=${me.value.id} size=${20} /><span class="cut">${me.value.id}</span><span class="sr">${t('nav.account')}</span></button>`}
      />
      <span class="grow"></span><${Pill} />
    </div>
  </aside>`;
}

function ProjectSwitch() {
  const name =
    projectRecord.value.name ?? projects.value?.find((one) => one.id === project.value)?.name ?? '';
  const text = html`<b class="cut">${project.value || 'aipm'}</b
    ><span class="xs t3 cut">${name}</span>`;
  if ((projects.value ?? []).length < 2) return html`<div class="project">${text}</div>`;
  const items = (projects.value ?? []).map((one) => ({
    label: one.name,
    note: one.waiting ? t('nav.waiting', { n: one.waiting, id: one.id }) : one.id,
    checked: one.id === project.value,
    onSelect: () => goTo(format(one.id, 'inbox')),
  }));
  return html`<${Menu}
    align="left"
    label=${t('nav.project')}
    items=${items}
    button=${(/** @type {any} */ props) => html`<button type="button" class="project switcher" ...${props}><span class="grow col gap-0">${text}</span><${Icon} name="down" size="14" /><span class="sr">${t('nav.project')}</span></button>`}
  />`;
}

/** @type {Record<string, number>} */
const RANK = { needs_you: 0, silent: 1, working: 2, awaiting_confirmation: 3, waiting: 4 };
const SHOWN = 8;

/** One line for each agent that runs: the session that matters most. */
function MissingSessions() {
  /** @type {Map<string, import('./fold.js').Rec>} */
  const best = new Map();
  for (const one of sessions.value) {
    const other = best.get(one.agent_id);
    if (!other || RANK[doing(one, now.value)] < RANK[doing(other, now.value)])
      best.set(one.agent_id, one);
  }
  if (!best.size) return null;
  const list = [...best.values()]
    .sort((a, b) => RANK[doing(a, now.value)] - RANK[doing(b, now.value)])
    .slice(0, SHOWN);
  return html`<div class="side-now">
    <h2 class="side-h">${t('nav.now')}</h2>
    <div class="roster">
      ${list.map((one) => {
        const state = doing(one, now.value);
        return html`<a key=${one.id} href=${format(project.value, 'agents')}>
          <${Avatar} id=${one.agent_id} size=${20} /><span class="nm cut">${one.agent_id}</span
          ><${Doing} doing=${state} small />
          <span class="line cut"
            >${state === 'working' ? (taskById.value[one.task_id]?.title ?? one.task_id) : t(`ss.${state}`)}</span
          >
        </a>`;
      })}
    </div>
  </div>`;
}

function Pill() {
  const { state, since } = link.value;
  if (state === 'gone') return html`<span class="pill" role="status">${t('nf.title')}</span>`;
  const shown = state === 'live' || state === 'offline' ? state : 'reconnecting';
  const text =
    shown === 'offline'
      ? t('conn.offline', { t: clock(since) })
      : t(state === 'connecting' ? 'conn.connecting' : `conn.${shown}`);
  return html`<span class=${classes('pill', `is-${shown}`)} role="status"
    ><span class="dot"></span>${text}</span
  >`;
}

function accountItems() {
  const themes = { system: 'settings', light: 'sun', dark: 'moon' };
  return [
    { head: t('ap.theme') },
    ...Object.entries(themes).map(([value, icon]) => ({
      label: t(`ap.${value}`),
      checked: theme.value === value,
      icon,
      onSelect: () => (theme.value = /** @type {any} */ (value)),
    })),
    { separator: true },
    { head: t('ap.lang') },
    ...[
      ['ja', '日本語'],
      ['en', 'English'],
    ].map(([value, label]) => ({
      label,
      checked: locale() === value,
      icon: 'globe',
      onSelect: () => (language.value = value),
    })),
    { separator: true },
    { label: t('nav.help'), icon: 'keyboard', keys: '?', onSelect: () => show('help') },
    { label: t('nav.start'), icon: 'flag', onSelect: () => goTo(format(project.value, 'start')) },
    { label: t('ap.logout'), icon: 'logout', onSelect: signOut },
  ];
}

const ON_THE_BAR = 4;
export function TabBar() {
  const all = [...ofProject(), ...ofServer()];
  const rest = all.slice(ON_THE_BAR);
  const items = [
    ...rest.map((one) => ({
      label: t(`nav.${one.screen}`),
      icon: one.icon,
      onSelect: () => goTo(format(project.value, one.screen)),
    })),
    { label: t('nav.search'), icon: 'search', onSelect: () => show('palette') },
    { separator: true },
    ...accountItems(),
  ];
  const inRest = rest.some((one) => isHere(one.screen)) || isHere('start');
  return html`<nav class="tabbar" aria-label=${t('nav.bar')}>
    <span class="sr"><${Pill} /></span>
    ${all.slice(0, ON_THE_BAR).map(
      (one) =>
        html`<a
          key=${one.screen}
          href=${format(project.value, one.screen)}
          aria-current=${isHere(one.screen) ? 'page' : null}
        >
          <span class="tb-i"
            ><${Icon}
              name=${one.icon}
              size="20"
            />${one.screen === 'inbox' && waiting.value.length > 0 && html`<span class="tb-n num">${waiting.value.length}</span>`}</span
          >
          <span>${t(`nav.${one.screen}`)}</span>
        </a>`,
    )}
    <${Menu}
      label=${t('nav.more')}
      items=${items}
      button=${(/** @type {any} */ props) =>
        html`<button type="button" aria-current=${inRest ? 'page' : null} ...${props}>
          <span class="tb-i"
            ><${Icon}
              name="menu"
              size="20"
            />${link.value.state !== 'live' && html`<span class="tb-n dot"></span>`}</span
          ><span>${t('nav.more')}</span>
        </button>`}
    />
  </nav>`;
}
