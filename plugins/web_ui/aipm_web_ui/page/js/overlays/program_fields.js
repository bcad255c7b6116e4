// What is run for an agent, as fields of its form. The server says which programs there are.
import { html, useEffect, useState } from '../lib.js';
import { Select, TextArea } from '../ui/controls.js';
import { Note } from '../ui/text.js';
import { giveHere } from '../orders.js';
import { mayOrder } from '../store.js';
import { t } from '../texts.js';

/** @param {any} props */
export const Field = ({ label, value, onInput, ...rest }) =>
  html`<label class="lb"
    >${label}<input
      type="text"
      value=${value}
      onInput=${(/** @type {any} */ event) => onInput(event.currentTarget.value)}
      ...${rest}
  /></label>`;

const NO_PROGRAM = {
  program: '',
  model: '',
  system_prompt: '',
  role_text: '',
  workspace: '',
  max_budget_usd: '',
};

/**
 * The programs that the settings allow, and what an agent has of them; the server is asked.
 * @param {string|undefined} id
 * @param {boolean} wanted
 */
export function useProgram(id, wanted) {
  const [names, setNames] = useState(/** @type {string[]|null} */ (null));
  const [before, setBefore] = useState(/** @type {Record<string, string>} */ (NO_PROGRAM));
  const [values, setValues] = useState(/** @type {Record<string, string>} */ (NO_PROGRAM));
  useEffect(() => {
    if (!wanted || !mayOrder('show_programs')) return;
    giveHere('show_programs', id ? { agent_id: id } : {}).then((found) => {
      if (!found) return;
      const kept = Object.fromEntries(
        Object.keys(NO_PROGRAM).map((name) => [name, String(found.agent?.[name] ?? '')]),
      );
      setNames(found.programs);
      setBefore(kept);
      setValues(kept);
    });
  }, [id, wanted]);
  const changes = Object.fromEntries(
    Object.entries(values)
      .filter(([name, value]) => value !== before[name])
      .map(([name, value]) => [name, name === 'max_budget_usd' && value ? Number(value) : value || null]),
  );
  return { names, values, setValues, changes };
}

/** @param {any} props */
export function ProgramFields({ names, values, setValues }) {
  const set = (/** @type {string} */ name) => (/** @type {string} */ value) =>
    setValues((/** @type {Record<string, string>} */ all) => ({ ...all, [name]: value }));
  return html`<fieldset class="col gap-5 plainset">
    <legend class="h">${t('ru.program.h')}</legend>
    <${Note}>${t('ru.program.d')}<//>
    <div class="grid2">
      <${Select}
        label=${t('ru.program')}
        value=${values.program}
        onChange=${set('program')}
        options=${[['', t('ru.program.none')], ...names.map((/** @type {string} */ one) => [one, one])]}
      />
      <${Field} label=${t('ru.model')} value=${values.model} onInput=${set('model')} placeholder=${t('ru.model.own')} spellcheck=${false} />
      <${Select}
        label=${t('ru.workspace')}
        value=${values.workspace}
        onChange=${set('workspace')}
        options=${['', 'worktree', 'directory'].map((one) => [one, t(`ru.workspace.${one || 'auto'}`)])}
      />
      <${Field} label=${t('ru.budget')} value=${values.max_budget_usd} onInput=${set('max_budget_usd')} inputmode="decimal" placeholder="2.50" />
    </div>
    <label class="lb"
      >${t('ru.prompt')}<${TextArea} rows="3" value=${values.system_prompt} onInput=${set('system_prompt')} maxlength="20000"
    /></label>
    <label class="lb"
      >${t('ru.role')}<${TextArea} rows="2" value=${values.role_text} onInput=${set('role_text')} maxlength="4000"
    /></label>
  </fieldset>`;
}
