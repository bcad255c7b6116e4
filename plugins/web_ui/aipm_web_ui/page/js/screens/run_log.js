// What a run prints: followed while it goes on, uses of tools folded, nothing moves under the reader.
import { html, classes, useEffect, useLayoutEffect, useRef, useState } from '../lib.js';
import { Icon } from '../ui/icons.js';
import { Empty, Skeleton } from '../ui/layout.js';
import { Visible } from '../ui/text.js';
import { call, Refusal } from '../api.js';
import { signIn } from '../preferences.js';
import { explain } from '../orders.js';
import { clock, millis, t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** How many lines are kept on the page, how long one asks for more, and rests after a failure. */
const MOST = 5000;
const WAIT_SECONDS = 20;
const PAUSE = 2000;
const NEAR = 60;

/**
 * The lines of a run, from the first to the last, as they come.
 * @param {string} id
 * @returns {{lines: Rec[], error: string, read: boolean}}
 */
export function useLog(id) {
  const [log, setLog] = useState({ lines: /** @type {Rec[]} */ ([]), error: '', read: false });
  useEffect(() => {
    let left = false;
    const follow = async () => {
      let after = 0;
      while (!left) {
        const wait = after ? `&wait=${WAIT_SECONDS}` : '';
        try {
          const path = `/api/runs/${encodeURIComponent(id)}/log?after=${after}${wait}`;
          const { lines, ended } = await call(path, { token: signIn.value?.token });
          if (left) return;
          after = lines.at(-1)?.number ?? (after || 0);
          setLog((was) => ({
            lines: [...was.lines, ...lines].slice(-MOST),
            error: '',
            read: true,
          }));
          if (ended && !lines.length) return;
          if (!after) await new Promise((resolve) => setTimeout(resolve, PAUSE));
        } catch (error) {
          if (left) return;
          setLog((was) => ({ ...was, error: explain(error), read: true }));
          if (error instanceof Refusal && [401, 404].includes(error.status)) return;
          await new Promise((resolve) => setTimeout(resolve, PAUSE));
        }
      }
    };
    follow();
    return () => {
      left = true;
    };
  }, [id]);
  return log;
}

/** Uses of tools that follow each other belong together. @param {Rec[]} lines @returns {Rec[]} */
export function grouped(lines) {
  /** @type {Rec[]} */
  const found = [];
  for (const line of lines) {
    const last = found.at(-1);
    if (last && last.kind === 'tool' && line.kind === 'tool') last.calls.push(line);
    else found.push(line.kind === 'tool' ? { ...line, calls: [line] } : line);
  }
  return found;
}

/** @param {{id: string, unfolded: boolean}} props */
export function Log({ id, unfolded }) {
  const { lines, error, read } = useLog(id);
  const box = useRef(/** @type {HTMLElement|null} */ (null));
  const follows = useRef(true);
  const before = useRef(0);
  const [fresh, setFresh] = useState(0);
  const toEnd = () => {
    const element = /** @type {HTMLElement} */ (box.current);
    follows.current = true;
    element.scrollTop = element.scrollHeight;
    setFresh(0);
  };
  useLayoutEffect(() => {
    const more = lines.length - before.current;
    before.current = lines.length;
    if (!box.current || more <= 0) return;
    if (follows.current) box.current.scrollTop = box.current.scrollHeight;
    else setFresh((n) => n + more);
  }, [lines.length]);
  const scrolled = (/** @type {any} */ { currentTarget: at }) => {
    follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR;
    if (follows.current && fresh) setFresh(0);
  };
  return html`<div class="se-wrap">
    <div
      class="se-log scroll"
      ref=${box}
      onScroll=${scrolled}
      role="log"
      aria-label=${t('ru.log')}
      aria-busy=${String(!read)}
      tabindex="0"
    >
      ${error && html`<p class="note c-bad"><${Icon} name="alert" size="14" />${error}</p>`}
      ${!read && html`<${Skeleton} />`}
      ${read && !lines.length && !error && html`<${Empty} small icon="terminal" title=${t('ru.log.none')} />`}
      <div class="se-in">
        ${grouped(lines).map((one) =>
          one.calls
            ? html`<${Calls} key=${one.number} calls=${one.calls} unfolded=${unfolded} />`
            : html`<${Line} key=${one.number} line=${one} />`,
        )}
      </div>
    </div>
    ${
      fresh > 0 &&
      html`<button type="button" class="newpill" onClick=${toEnd}>
        <${Icon} name="arrowDown" size="14" />${t('ru.new', { n: fresh })}
      </button>`
    }
  </div>`;
}

/** @param {{line: Rec}} props */
const Line = ({ line }) =>
  html`<div class=${classes('se-line', line.kind)}>
    ${line.kind !== 'text' && html`<${Icon} name=${line.kind === 'error' ? 'alert' : 'info'} size="14" label=${t(`ru.kind.${line.kind}`)} />`}
    <span class="pre grow"><${Visible} text=${line.text} /></span
    ><time class="num xs t3">${clock(millis(line.at))}</time>
  </div>`;

/** @param {{calls: Rec[], unfolded: boolean}} props */
function Calls({ calls, unfolded }) {
  const [chosen, choose] = useState(/** @type {boolean|null} */ (null));
  useEffect(() => choose(null), [unfolded]);
  const open = chosen ?? unfolded;
  /** @type {Map<string, number>} */
  const names = new Map();
  for (const { tool } of calls) names.set(tool ?? '…', (names.get(tool ?? '…') ?? 0) + 1);
  const told = [...names].map(([name, n]) => (n > 1 ? `${name} ×${n}` : name)).join(', ');
  return html`<div class="calls">
    <button
      type="button"
      class="calls-h"
      aria-expanded=${String(open)}
      onClick=${() => choose(!open)}
    >
      <${Icon} name=${open ? 'down' : 'right'} size="14" /><${Icon} name="wrench" size="14" />
      <span class="nowrap">${t('ru.calls', { n: calls.length })}</span
      ><span class="cut mono xs t3 grow">${told}</span
      ><time class="num xs t3">${clock(millis(calls[0].at))}</time>
    </button>
    ${
      open &&
      html`<ul>
        ${calls.map(
          (one) =>
            html`<li key=${one.number} class="call">
              <b class="mono xs">${one.tool ?? ''}</b>
              <span class="mono xs t2 pre grow"><${Visible} text=${one.text} /></span>
            </li>`,
        )}
      </ul>`
    }
  </div>`;
}
