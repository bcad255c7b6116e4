// A new task, or changes to one.
import { html, useState } from '../lib.js';
import { Button, Keys, Select, TextArea, composing } from '../ui/controls.js';
import { Dialog } from '../ui/dialog.js';
import { Note } from '../ui/text.js';
import { agents, taskById, tasks } from '../records.js';
import { giveHere } from '../orders.js';
import { canAct, hide } from '../store.js';
import { toast } from '../notices.js';
import { t } from '../texts.js';

const PRIORITIES = ['urgent', 'high', 'medium', 'low'];

/** @param {{status?: string, id?: string}} props */
export function TaskForm({ status = 'todo', id }) {
  const known = id ? taskById.value[id] : null;
  const [values, setValues] = useState({
    title: known?.title ?? '',
    description: known?.description ?? '',
    assignee_id: known?.assignee_id ?? '',
    priority: known?.priority ?? 'medium',
    status,
    parent_task_id: '',
  });
  const [busy, setBusy] = useState(false);
  const set = (/** @type {string} */ name) => (/** @type {string} */ value) =>
    setValues((all) => ({ ...all, [name]: value }));
  const ready = values.title.trim() && canAct.value && !busy;
  const submit = async () => {
    if (!ready) return;
    setBusy(true);
    const done = known ? await change(known, values) : await create(values);
    setBusy(false);
    if (!done) return;
    hide();
    toast(t(known ? 'ta.changed' : 'bo.created'));
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (!composing(event) && event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
  };
  const title = t(known ? 'ta.edit' : 'bo.new');
  const footer = html`<span class="xs t3 grow"><${Keys} keys="Ctrl Enter" /></span>
    <${Button} kind="ghost" onClick=${hide}>${t('c.cancel')}<//>
    <${Button} kind="primary" busy=${busy} disabled=${!ready} onClick=${submit}
      >${t(known ? 'c.save' : 'bo.c.create')}<//
    >`;
  return html`<${Dialog} title=${title} footer=${footer}>
    <div class="col gap-5" onKeyDown=${key}>
      <label class="lb"
        >${t('bo.c.title')}<input
          type="text"
          data-first
          maxlength="200"
          value=${values.title}
          onInput=${(/** @type {any} */ event) => set('title')(event.currentTarget.value)}
          placeholder=${t('bo.c.title.ph')}
      /></label>
      <label class="lb"
        >${t('bo.c.desc')}<${TextArea}
          rows="4"
          value=${values.description}
          onInput=${set('description')}
          placeholder=${t('bo.c.desc.ph')}
      /></label>
      <div class="grid2">
        <${Select}
          label=${t('pr.label')}
          value=${values.priority}
          onChange=${set('priority')}
          options=${PRIORITIES.map((one) => [one, t(`pr.${one}`)])}
        />
        ${!known && html`<${NewFields} values=${values} set=${set} />`}
      </div>
      ${!known && html`<${Note}>${t('bo.c.hint')}<//>`}
    </div>
  <//>`;
}

/** @param {any} props */
function NewFields({ values, set }) {
  const open = tasks.value.filter((one) => !['done', 'cancelled'].includes(one.status));
  return html`<${Select}
      label=${t('ta.assignee')}
      value=${values.assignee_id}
      onChange=${set('assignee_id')}
      options=${[['', t('c.unassigned')], ...agents.value.map((one) => [one.id, one.id])]}
    />
    <${Select}
      label=${t('bo.c.status')}
      value=${values.status}
      onChange=${set('status')}
      options=${['todo', 'backlog'].map((one) => [one, t(`st.${one}`)])}
    />
    <${Select}
      label=${t('ta.parent')}
      value=${values.parent_task_id}
      onChange=${set('parent_task_id')}
      options=${[['', t('c.none')], ...open.map((one) => [one.id, one.title])]}
    />`;
}

/** @param {Record<string, string>} values */
const create = (values) =>
  giveHere('create_task', {
    ...Object.fromEntries(Object.entries(values).filter(([, value]) => value)),
    title: values.title.trim(),
  });

/** Only what was changed is sent. @param {Record<string, any>} known @param {Record<string, string>} values */
async function change(known, values) {
  const changed = Object.fromEntries(
    ['title', 'description', 'priority']
      .filter((name) => values[name] !== (known[name] ?? ''))
      .map((name) => [name, values[name]]),
  );
  return Object.keys(changed).length
    ? giveHere('edit_task', { task_id: known.id, ...changed })
    : true;
}
