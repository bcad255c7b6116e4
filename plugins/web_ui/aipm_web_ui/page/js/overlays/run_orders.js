// Before a run is stopped, killed or taken back: what happens, and what is lost.
import { html } from '../lib.js';
import { Dialog, Sure } from '../ui/dialog.js';
import { Icon } from '../ui/icons.js';
import { Skeleton } from '../ui/layout.js';
import { view } from '../records.js';
import { giveHere } from '../orders.js';
import { announce, toast } from '../notices.js';
import { t } from '../texts.js';
import { runs } from '../runs.js';
import { useChanges } from '../screens/run_changes.js';

const FEW = 8;

/** @param {{id: string, kill?: boolean}} props */
export function StopRun({ id, kill = false }) {
  const run = view('runs')[id];
  if (!run) return html`<${Dialog} title=${t('ru.stop')} lead=${t('ru.none.d')} />`;
  const stop = async () => {
    if (await giveHere('stop_run', { run_id: id, kill })) announce(t('ru.told.me'));
  };
  const name = kill ? 'ru.kill' : 'ru.stop';
  return html`<${Sure}
    title=${t(kill ? 'ru.kill.t' : 'ru.stop.t', { a: run.agent_id })}
    lead=${t(kill ? 'ru.kill.d' : 'ru.stop.d')}
    icon=${kill ? 'power' : 'stop'}
    action=${t(name)}
    onGo=${stop}
  />`;
}

/** @param {{id: string}} props */
export function UndoRun({ id }) {
  const run = view('runs')[id];
  return run
    ? html`<${Undo} run=${run} />`
    : html`<${Dialog} title=${t('ru.undo')} lead=${t('ru.none.d')} />`;
}

/** @param {{run: import('../fold.js').Rec}} props */
function Undo({ run }) {
  const { files, error } = useChanges(run);
  const later = runs.value.filter(
    (one) => one.workspace === run.workspace && one.created_at > run.created_at,
  ).length;
  const undo = async () => {
    if (await giveHere('undo_run', { run_id: run.id }))
      toast(t('ru.undone.me', { a: run.agent_id }));
  };
  return html`<${Sure}
    title=${t('ru.undo.t', { a: run.agent_id })}
    lead=${t('ru.undo.d', { b: run.branch, r: `refs/aipm/undone/${run.id}` })}
    icon="undo"
    action=${t('ru.undo')}
    onGo=${undo}
  >
    ${later > 0 && html`<p class="callout bad"><${Icon} name="alert" /><span>${t('ru.undo.later', { n: later })}</span></p>`}
    ${error ? html`<p class="sm t2">${error}</p>` : !files && html`<${Skeleton} rows="2" />`}
    ${
      files &&
      html`<ul class="tl">
        ${files
          .slice(0, FEW)
          .map(
            (file) =>
              html`<li key=${file.path}>
                <span class="mono xs grow cut">${file.path}</span
                ><span class="num xs c-good">+${file.added}</span
                ><span class="num xs c-bad">−${file.removed}</span>
              </li>`,
          )}
        ${files.length > FEW && html`<li class="sm t2">${t('ru.undo.more', { n: files.length - FEW })}</li>`}
      </ul>`
    }
  <//>`;
}
