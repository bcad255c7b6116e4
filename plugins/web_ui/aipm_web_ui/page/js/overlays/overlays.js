// The overlay that is open, if one is.
import { html } from '../lib.js';
import { overlay } from '../store.js';
import { Palette } from './palette.js';
import { Help } from './help.js';
import { TaskForm } from './task_form.js';
import { ForceStop, Interrupt, PauseAll, PauseProject } from './interrupt.js';
import { StopRun, UndoRun } from './run_orders.js';
import { Announce, MemberForm, NewToken, ProjectForm, Rekey } from './member_forms.js';
import { PluginSwitch } from './plugin_switch.js';

/** @type {Record<string, (props: any) => unknown>} */
const KINDS = {
  palette: Palette,
  help: Help,
  create: TaskForm,
  edit: TaskForm,
  interrupt: Interrupt,
  force: ForceStop,
  pause_all: PauseAll,
  pause_project: PauseProject,
  stop_run: StopRun,
  undo_run: UndoRun,
  member: MemberForm,
  rekey: Rekey,
  token: NewToken,
  project: ProjectForm,
  announce: Announce,
  plugin: PluginSwitch,
};

export function Overlays() {
  const open = overlay.value;
  const Kind = open && KINDS[open.kind];
  return Kind ? html`<${Kind} key=${JSON.stringify(open)} ...${open} />` : null;
}
