// The command palette: screens, orders, agents and tasks by a few letters.
import { html, classes, useEffect, useRef, useState } from '../lib.js';
import { Keys, composing } from '../ui/controls.js';
import { Dialog } from '../ui/dialog.js';
import { Icon } from '../ui/icons.js';
import { Avatar } from '../ui/members.js';
import { format, goTo } from '../address.js';
import { agents, sessions, tasks, waiting } from '../records.js';
import { hide, mayOrder, project, projects, show } from '../store.js';
import { language, theme } from '../preferences.js';
import { locale, t } from '../texts.js';
import { navigation } from '../navigation.js';
import { iconOf, titleOf } from '../screens/inbox_item.js';

/** @typedef {{group: string, label: string, run: () => void, icon?: string, tone?: string, member?: string, note?: string, keys?: string, more?: string}} Entry */

const MOST = 40;
/** @param {string} text */
const plain = (text) => text.normalize('NFKC').toLowerCase();
/** @param {string} screen @param {...string} rest */
const to =
  (screen, ...rest) =>
  () =>
    goTo(format(project.value, screen, ...rest));

const isDark = () =>
  theme.value === 'dark' ||
  (theme.value === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);

/** @returns {Entry[]} */
function orders() {
  const running = sessions.value.filter(() => mayOrder('notify'));
  return [
    ...(mayOrder('create_task')
      ? [{ group: 'pa.do', icon: 'plus', label: t('bo.new'), keys: 'C', run: () => show('create') }]
      : []),
    ...running.map((one) => ({
      group: 'pa.do',
      icon: 'hand',
      label: t('int.title', { a: one.agent_id }),
      note: t(`purpose.${one.purpose}`),
      run: () => show('interrupt', { session: one.id }),
    })),
    ...(running.length
      ? [{ group: 'pa.do', icon: 'pause', label: t('ag.pauseall'), run: () => show('pause_all') }]
      : []),
    ...['broadcast', 'announce'].filter(mayOrder).map((tool) => ({
      group: 'pa.do',
      icon: 'bell',
      label: t(`an.${tool}`),
      run: () => show('announce', { tool }),
    })),
    {
      group: 'pa.do',
      icon: isDark() ? 'sun' : 'moon',
      label: t('pa.theme'),
      run: () => (theme.value = isDark() ? 'light' : 'dark'),
    },
    {
      group: 'pa.do',
      icon: 'globe',
      label: t('pa.lang'),
      run: () => (language.value = locale() === 'ja' ? 'en' : 'ja'),
    },
    { group: 'pa.do', icon: 'keyboard', label: t('nav.help'), keys: '?', run: () => show('help') },
  ];
}

/** @returns {Entry[]} */
function entries() {
  return [
    ...waiting.value.slice(0, 3).map((item) => {
      const [icon, tone] = iconOf(item);
      return { group: 'nav.inbox', icon, tone, label: titleOf(item), run: to('inbox', item.id) };
    }),
    ...orders(),
    ...navigation().map(({ screen, icon, keys }) => ({
      group: 'pa.go',
      icon,
      label: t(`nav.${screen}`),
      keys,
      run: to(screen),
    })),
    ...(projects.value ?? [])
      .filter((one) => one.id !== project.value)
      .map((one) => ({
        group: 'nav.project',
        icon: 'flag',
        label: one.name,
        note: one.id,
        run: () => goTo(format(one.id, 'inbox')),
      })),
    ...agents.value.map((one) => ({
      group: 'pa.agents',
      member: one.id,
      label: one.id,
      note: t('ch.title'),
      run: to('chat', one.id),
    })),
    ...tasks.value.map((task) => ({
      group: 'pa.tasks',
      icon: task.status,
      tone: `status ${task.status}`,
      label: task.title,
      note: task.id,
      run: to('tasks', task.id),
    })),
  ];
}

/** @param {string} query @returns {Entry[]} */
function found(query) {
  const words = plain(query).split(/\s+/).filter(Boolean);
  const all = entries();
  if (!words.length) return all.filter((one) => one.group !== 'pa.tasks').slice(0, MOST);
  return all
    .filter((one) => words.every((word) => plain(`${one.label} ${one.note ?? ''}`).includes(word)))
    .slice(0, MOST);
}

export function Palette() {
  const [query, setQuery] = useState('');
  const [chosen, setChosen] = useState(0);
  const box = useRef(/** @type {HTMLElement|null} */ (null));
  const list = found(query);
  useEffect(
    () => box.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }),
    [chosen, query],
  );
  const run = (/** @type {Entry|undefined} */ entry) => {
    hide();
    entry?.run();
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (composing(event)) return;
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) setChosen((chosen + by + list.length) % Math.max(1, list.length));
    else if (event.key === 'Enter') run(list[chosen]);
    else return;
    event.preventDefault();
  };
  const type = (/** @type {any} */ event) => {
    setQuery(event.currentTarget.value);
    setChosen(0);
  };
  return html`<${Dialog} bare cls="palette" title=${t('pa.title')}>
    <div class="pa">
      <div class="pa-q">
        <${Icon} name="search" />
        <input
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="pa-list"
          aria-activedescendant=${list.length ? `pa-${chosen}` : null}
          aria-label=${t('pa.ph')}
          placeholder=${t('pa.ph')}
          value=${query}
          onInput=${type}
          onKeyDown=${key}
          data-first
        />
        <${Keys} keys="Esc" />
      </div>
      <div
        class="pa-list scroll"
        id="pa-list"
        role="listbox"
        aria-label=${t('pa.title')}
        ref=${box}
        tabindex="-1"
      >
        ${list.map((entry, at) => html`${entry.group !== list[at - 1]?.group && html`<div class="menu-head" role="presentation" key=${`h${at}`}>${t(entry.group)}</div>`}<${Line} key=${at} entry=${entry} at=${at} chosen=${at === chosen} onPoint=${() => setChosen(at)} onRun=${() => run(entry)} />`)}
        ${!list.length && html`<p class="pa-none t3" role="presentation">${t('pa.none')}</p>`}
      </div>
      <div class="pa-f xs t3">
        <span><${Keys} keys="↑ ↓" /> ${t('pa.move')}</span
        ><span><${Keys} keys="Enter" /> ${t('pa.run')}</span>
      </div>
    </div>
  <//>`;
}

/** @param {any} props */
const Line = ({ entry, at, chosen, onPoint, onRun }) =>
  html`<div
    id=${`pa-${at}`}
    role="option"
    aria-selected=${String(chosen)}
    class="pa-i"
    onPointerMove=${onPoint}
    onClick=${onRun}
  >
    <span class=${classes('pa-ic', entry.tone)}
      >${entry.member ? html`<${Avatar} id=${entry.member} size=${18} />` : html`<${Icon} name=${entry.icon} />`}</span
    >
    <span class="grow cut">${entry.label}</span>
    ${entry.note && html`<span class="xs t3 mono cut pa-note">${entry.note}</span>`}${entry.keys && html`<${Keys} keys=${entry.keys} />`}
  </div>`;
