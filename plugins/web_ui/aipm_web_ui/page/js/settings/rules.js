// What agents may do without asking, when a person is asked, and what people allowed in advance.
import { html, classes } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Code, Note, Visible } from '../ui/text.js';
import { Skeleton } from '../ui/layout.js';
import { Time, Who } from '../ui/members.js';
import { useAsked } from '../asked.js';
import { give } from '../orders.js';
import { toast } from '../notices.js';
import { canAct, mayOrder, project } from '../store.js';
import { millis, stamp, t } from '../texts.js';
import { Rehearsal } from './rehearsal.js';

/** @typedef {import('../fold.js').Rec} Rec */

export function Rules() {
  const [answer, again] = useAsked('list_rules', { project_id: project.value });
  if (!answer) return html`<${Skeleton} rows=${4} />`;
  const rules = /** @type {Rec[]} */ (answer.rules ?? []);
  const made = /** @type {Rec[]} */ (answer.made ?? []);
  const revoke = async (/** @type {Rec} */ rule) => {
    const args = { project_id: project.value, rule_id: rule.id };
    if (await give('revoke_rule', args)) toast(t('se2.r.revoked'));
    again();
  };
  const shipped = /** @type {Rec[]} */ (answer.defaults ?? []);
  const policies = /** @type {Rec[]} */ (answer.policies ?? []);
  return html`<h2>${t('se2.rules')}</h2>
    <p class="t2 sm phrase">${t('se2.r.lead')}</p>
    <div class="set-box">
      ${rules.map((rule) => html`<${Rule} key=${rule.number} rule=${rule} />`)}
      ${made.map((rule) => html`<${Rule} key=${rule.id} rule=${rule} name=${t('se2.r.made', { p: rule.made_by, t: stamp(millis(rule.expires_at)) })} onRevoke=${() => revoke(rule)} />`)}
      <div class="set-row"><p class="sm t2">${t('se2.r.default')}</p></div>
    </div>
    ${shipped.length > 0 && html`<${Shipped} rules=${shipped} />`}
    ${mayOrder('rehearse_rules') && html`<${Rehearsal} onMade=${again} />`}
    ${policies.length > 0 && html`<${Note}>${t('se2.r.policies', { l: policies.map((one) => `${one.plugin}: ${one.name}`).join(', ') })}<//>`}
    <${Code} copy=${EXAMPLE} label="aipm.toml">${EXAMPLE}<//>
    ${mayOrder('list_grants') && html`<${Grants} />`}`;
}

const EXAMPLE =
  '[[plugins.policy.rules]]\ntool = "file:*"\ndecision = "REQUIRE_USER_CONFIRMATION"';

/** @type {Record<string, string>} */
const TONES = { ALLOW: 'good', DENY: 'bad', REQUIRE_USER_CONFIRMATION: 'you' };

/** @param {{rules: Rec[]}} props */
const Shipped = ({ rules }) =>
  html`<h2>${t('se2.r.shipped')}</h2>
    <p class="t2 sm phrase">${t('se2.r.shipped.lead')}</p>
    <div class="set-box">
      ${rules.map((rule, at) => html`<${Rule} key=${at} rule=${rule} name=${rule.name} />`)}
    </div>`;

/** @param {unknown} value */
const patterns = (value) => (Array.isArray(value) ? value.join('  ') : String(value));

/** @param {{rule: Rec, name?: string, onRevoke?: () => void}} props */
function Rule({ rule, name: own, onRevoke }) {
  const only = ['agent', 'project', 'purpose', 'place', 'between', 'unreadable']
    .filter((name) => rule[name] !== null && rule[name] !== undefined)
    .map((name) => `${name} = ${rule[name]}`)
    .concat(Object.entries(rule.arguments ?? {}).map(([name, value]) => `${name} ≈ ${patterns(value)}`));
  return html`<div class="set-row">
    <div class="grow">
      <p class="row wrap gap-2">
        <code class="ic">${rule.tool}</code
        ><span class=${classes('tag', TONES[rule.decision])}>${t(`se2.r.${rule.decision}`)}</span>
        ${rule.level && html`<span class="tag">${rule.level}</span>`}
      </p>
      ${only.length > 0 && html`<p class="xs t2 mono"><${Visible} text=${only.join(' · ')} /></p>`}
      ${rule.message && html`<p class="sm t2"><${Visible} text=${rule.message} /></p>`}
    </div>
    <span class="xs t3 mono">${own ?? `rules[${rule.number}]`}</span>
    ${onRevoke && mayOrder('revoke_rule') && html`<${Button} kind="danger" size="small" disabled=${!canAct.value} onClick=${onRevoke}>${t('se2.a.revoke')}<//>`}
  </div>`;
}

function Grants() {
  const [answer, again] = useAsked('list_grants', { project_id: project.value });
  const revoke = async (/** @type {Rec} */ grant) => {
    const args = { project_id: project.value, grant_id: grant.id };
    if (await give('revoke_grant', args)) toast(t('se2.g.revoked', { tool: grant.tool }));
    again();
  };
  const grants = /** @type {Rec[]} */ (answer?.grants ?? []);
  return html`<h2>${t('se2.g.title')}</h2>
    <p class="t2 sm phrase">${t('se2.g.lead')}</p>
    ${
      !answer
        ? html`<${Skeleton} rows=${2} />`
        : html`<div class="set-box">
            ${grants.map((grant) => html`<${Grant} key=${grant.id} grant=${grant} onRevoke=${() => revoke(grant)} />`)}
            ${!grants.length && html`<p class="set-row t3 sm">${t('se2.g.none')}</p>`}
          </div>`
    }`;
}

/** @param {{grant: Rec, onRevoke: () => void}} props */
const Grant = ({ grant, onRevoke }) =>
  html`<div class="set-row">
    <div class="grow">
      <p class="row wrap gap-2">
        <${Who} id=${grant.agent_id} /><code class="ic">${grant.tool}</code
        ><span class="tag">${grant.level}</span
        ><span class="sm">${t(grant.session_id ? 'se2.g.session' : 'se2.g.always')}</span>
      </p>
      <p class="xs t3">
        ${t('se2.g.by', { p: grant.granted_by })} <${Time} at=${grant.created_at} /> ·
        ${t('se2.a.until', { t: stamp(millis(grant.expires_at)) })}
        ${grant.same_arguments_only && html` · ${t('se2.g.same')}`}
      </p>
    </div>
    ${mayOrder('revoke_grant') && html`<${Button} kind="danger" size="small" disabled=${!canAct.value} onClick=${onRevoke}>${t('se2.a.revoke')}<//>`}
  </div>`;
