// Where the page begins: language, sign-in, project, screen.
import { html, classes, render, useEffect } from './lib.js';
import { format, place, replaceAddress } from './address.js';
import { signIn } from './preferences.js';
import { link, loadBasics, project, projects, watchProject } from './store.js';
import { startTexts, t } from './texts.js';
import './keys.js';
import { startDesktop } from './desktop.js';
import { Side, TabBar } from './frame.js';
import { Announcement, Banner, Toasts } from './banners.js';
import { Listing } from './ui/layout.js';
import { Overlays } from './overlays/overlays.js';
import { Inbox } from './screens/inbox.js';
import { Board } from './screens/board.js';
import { Agents } from './screens/agents.js';
import { Chat } from './screens/chat.js';
import { Conversations } from './screens/conversations.js';
import { Activity } from './screens/activity.js';
import { Plugins } from './screens/plugins.js';
import { Settings } from './settings/settings.js';
import { Start } from './screens/start.js';
import { Login } from './screens/login.js';
import { Run } from './screens/run.js';
import { Missing, NoProject } from './screens/missing.js';

/** @type {Record<string, () => unknown>} */
const SCREENS = {
  inbox: Inbox,
  board: Board,
  tasks: Board,
  agents: Agents,
  runs: Run,
  chat: Chat,
  conversations: Conversations,
  activity: Activity,
  start: Start,
  plugins: Plugins,
  settings: Settings,
};

/** A code in the address is used once and taken out of it at once. */
function takeCode() {
  const found = /^#code=([^&]+)/.exec(location.hash);
  if (!found) return '';
  replaceAddress('#/');
  return decodeURIComponent(found[1]);
}

/** @returns {() => unknown} */
function chosen() {
  const { screen } = place.value;
  const known = projects.value;
  const own = !['settings', 'plugins'].includes(screen);
  if (known && !known.length && own) return NoProject;
  if (link.value.state === 'gone' && own) return Missing;
  return SCREENS[screen] ?? Missing;
}

/** @param {{code: string}} props */
function App({ code }) {
  const signedIn = !!signIn.value;
  const { screen } = place.value;
  useEffect(() => {
    if (signedIn) loadBasics();
  }, [signedIn]);
  // The first address is that of the last project, as soon as one is known.
  useEffect(() => {
    if (signedIn && projects.value?.length && (!screen || screen === 'login')) {
      replaceAddress(format(project.value, 'inbox'));
    }
  }, [signedIn, screen, projects.value]);
  useEffect(watchProject, [signedIn, project.value, projects.value]);
  if (!signedIn) return html`<${Login} code=${code} />`;
  const Screen = chosen();
  const old = link.value.state === 'offline';
  return html`<a class="skip" href="#main" onClick=${skip}>${t('nav.skip')}</a>
    <div class=${classes('app', old && 'stale-data')}>
      <${Side} />
      <main class="main" id="main">
        <${Banner} /><${Announcement} />${screen ? html`<${Screen} key=${`${project.value}/${screen === 'tasks' ? 'board' : screen}`} />` : html`<${Listing} />`}
      </main>
      <${TabBar} />
    </div>
    <${Overlays} /><${Toasts} />`;
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  /** @type {HTMLElement|null} */ (document.querySelector('main h1'))?.focus();
}

const code = takeCode();
if (code && signIn.value) signIn.value = null; // a new code means a new person
await startTexts();
startDesktop();
const app = /** @type {HTMLElement} */ (document.getElementById('app'));
app.replaceChildren();
render(html`<${App} code=${code} />`, app);
