// The screens one can go to: only those whose data this server has.
import { hasView } from './records.js';
import { mayOrder, panels, world } from './store.js';

/** @typedef {{screen: string, icon: string, keys: string}} Screen */

/** @type {(Screen & {needs?: string})[]} */
const SCREENS = [
  { screen: 'inbox', icon: 'inbox', keys: 'I' },
  { screen: 'board', icon: 'board', keys: 'B', needs: 'tasks' },
  { screen: 'agents', icon: 'agents', keys: 'G A', needs: 'sessions' },
  { screen: 'chat', icon: 'chat', keys: 'G C', needs: 'chats' },
  { screen: 'conversations', icon: 'talks', keys: 'G V', needs: 'conversations' },
  { screen: 'activity', icon: 'activity', keys: 'G L', needs: 'activity' },
];

/** @returns {Screen[]} */
export const ofProject = () =>
  SCREENS.filter(({ needs }) => !needs || !world.value.complete || hasView(needs));

/** @returns {Screen[]} */
export const ofServer = () => [
  ...(mayOrder('list_plugins') || panels.value.some((panel) => panel.slot === 'plugins')
    ? [{ screen: 'plugins', icon: 'plugins', keys: 'G P' }]
    : []),
  { screen: 'settings', icon: 'settings', keys: 'G S' },
];

/** @returns {Screen[]} */
export const navigation = () => [
  ...ofProject(),
  ...ofServer(),
  { screen: 'start', icon: 'flag', keys: '' },
];
