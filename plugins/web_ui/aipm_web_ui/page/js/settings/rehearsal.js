// What the calls of the last days got, how many questions that meant, and which rule would spare them.
import { html } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Visible } from '../ui/text.js';
import { Skeleton } from '../ui/layout.js';
import { useAsked } from '../asked.js';
import { give } from '../orders.js';
import { toast } from '../notices.js';
import { canAct, mayOrder, project } from '../store.js';
import { t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

const DAYS = 7;

/** @param {{onMade: () => void}} props */
export function Rehearsal({ onMade }) {
  const [answer, again] = useAsked('rehearse_rules', { project_id: project.value, days: DAYS });
  const make = async (/** @type {Rec} */ rule) => {
    const args = { project_id: project.value, tool: rule.tool, arguments: rule.arguments ?? {}, days: DAYS };
    if (await give('make_rule', args)) toast(t('se2.h.made', { n: DAYS }));
    again();
    onMade();
  };
  if (!answer) return html`<${Skeleton} rows=${2} />`;
  const asking = /** @type {Rec[]} */ (answer.asking ?? []);
  const ideas = /** @type {Rec[]} */ (answer.suggestions ?? []);
  return html`<h2>${t('se2.h.title', { n: DAYS })}</h2>
    <p class="t2 sm phrase">${t('se2.h.lead', { c: answer.calls, q: answer.questions_per_day })}</p>
    <div class="set-box">
      ${asking.map(
        (one) =>
          html`<div class="set-row" key=${one.rule}>
            <code class="ic grow"><${Visible} text=${one.rule} /></code><span class="sm t2">${t('se2.h.asks', { n: one.questions })}</span>
          </div>`,
      )}
      ${ideas.map((idea, at) => html`<${Idea} key=${at} idea=${idea} onMake=${() => make(idea.rule)} />`)}
      ${!ideas.length && html`<p class="set-row t3 sm">${t('se2.h.none')}</p>`}
    </div>`;
}

/** @param {{idea: Rec, onMake: () => void}} props */
const Idea = ({ idea, onMake }) => {
  const only = Object.entries(idea.rule.arguments ?? {}).map(([name, value]) => `${name} ≈ ${value}`);
  return html`<div class="set-row">
    <div class="grow">
      <p class="row wrap gap-2"><code class="ic">${idea.rule.tool}</code><span class="sm t2">${t('se2.h.removes', { n: idea.removes })}</span></p>
      ${only.length > 0 && html`<p class="xs t2 mono"><${Visible} text=${only.join(' · ')} /></p>`}
    </div>
    ${mayOrder('make_rule') && html`<${Button} size="small" disabled=${!canAct.value} onClick=${onMake}>${t('se2.h.make', { n: DAYS })}<//>`}
  </div>`;
};
