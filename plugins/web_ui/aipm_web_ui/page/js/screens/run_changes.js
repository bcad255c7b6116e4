// What a run has changed, file by file. The server has cut it into hunks; nothing is parsed here.
import { html, classes, useEffect, useState } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Empty, Skeleton } from '../ui/layout.js';
import { Note, Visible } from '../ui/text.js';
import { call } from '../api.js';
import { signIn } from '../preferences.js';
import { explain } from '../orders.js';
import { ago, t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

/**
 * The changes of a run as they are now; asked for again when the run moves on.
 * @param {Rec} run
 */
export function useChanges(run) {
  const [found, setFound] = useState(
    /** @type {{files: Rec[]|null, cut: boolean, error: string, at: number}} */ ({
      files: null,
      cut: false,
      error: '',
      at: 0,
    }),
  );
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let left = false;
    call(`/api/runs/${encodeURIComponent(run.id)}/diff`, { token: signIn.value?.token })
      .then((data) => ({ files: data.files, cut: data.truncated, error: '', at: Date.now() }))
      .catch((error) => ({ files: null, cut: false, error: explain(error), at: Date.now() }))
      .then((next) => !left && setFound(next));
    return () => {
      left = true;
    };
  }, [run.id, run.state, run.snapshot, run.undone_at, turn]);
  return { ...found, again: () => setTurn((n) => n + 1) };
}

/** @param {{run: Rec}} props */
export function Changes({ run }) {
  const { files, cut, error, at, again } = useChanges(run);
  if (error) return html`<${Empty} small icon="diff" title=${t('ru.diff.not')} text=${error} />`;
  if (!files) return html`<${Skeleton} rows="4" />`;
  const told = t(
    run.undone_at ? 'ru.diff.undone' : run.ended_at ? 'ru.diff.ended' : 'ru.diff.live',
    {
      a: run.agent_id,
      p: run.undone_by,
    },
  );
  return html`<div class="row wrap">
      <${Note}>${told} <span class="t3">${ago(at)}</span><//><span class="grow"></span>
      ${!run.ended_at && html`<${Button} kind="ghost" size="small" icon="refresh" onClick=${again}>${t('ru.diff.again')}<//>`}
    </div>
    ${cut && html`<${Note} icon="alert">${t('ru.diff.cut')}<//>`}
    ${!files.length && html`<${Empty} small icon="diff" title=${t('ru.diff.none')} />`}
    ${files.map((file, n) => html`<${File} key=${file.path} file=${file} open=${n === 0} />`)}`;
}

/** @param {{file: Rec, open: boolean}} props */
function File({ file, open }) {
  const name = file.old_path ? `${file.old_path} → ${file.path}` : file.path;
  return html`<details class="file" open=${open}>
    <summary>
      <${Icon} name="right" size="14" /><${Icon} name="file" size="14" />
      <span class="mono sm grow cut" title=${name}><${Visible} text=${name} /></span>
      ${file.status && html`<span class="tag">${t(`ru.file.${file.status}`)}</span>`}
      <span class="num xs c-good">+${file.added}</span
      ><span class="num xs c-bad">−${file.removed}</span>
    </summary>
    ${
      file.binary || !file.hunks.length
        ? html`<p class="pad sm t2">${t(file.binary ? 'ru.file.binary' : 'ru.file.nolines')}</p>`
        : html`<div class="diff scroll" tabindex="0" role="group" aria-label=${name}>
            <table>
              <tbody>
                ${file.hunks.map((/** @type {Rec} */ hunk) => Hunk(hunk))}
              </tbody>
            </table>
          </div>`
    }
  </details>`;
}

/** @type {Record<string, [string, string]>} */
const SIGNS = { added: ['add', '+'], removed: ['del', '−'], same: ['', ' '] };

/** @param {Rec} hunk */
function Hunk(hunk) {
  let [old, fresh] = [hunk.old, hunk.new];
  return html`<tr class="hunk">
      <td colspan="4">@@ −${hunk.old} +${hunk.new} @@ <${Visible} text=${hunk.title} /></td>
    </tr>
    ${hunk.lines.map((/** @type {Rec} */ { kind, text }, /** @type {number} */ key) => {
      const [tone, sign] = SIGNS[kind];
      const left = kind === 'added' ? '' : old++;
      const right = kind === 'removed' ? '' : fresh++;
      return html`<tr key=${key} class=${classes(tone)}>
        <td class="ln">${left}</td>
        <td class="ln">${right}</td>
        <td class="sg">${sign}</td>
        <td class="pre"><${Visible} text=${text} /></td>
      </tr>`;
    })}`;
}
