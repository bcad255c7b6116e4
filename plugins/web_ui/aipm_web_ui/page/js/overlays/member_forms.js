// Members, passkeys, tokens, projects, and words to all.
import { html, useState } from '../lib.js';
import { Button, Select, Switch, TextArea } from '../ui/controls.js';
import { Dialog } from '../ui/dialog.js';
import { Code, Note } from '../ui/text.js';
import { members, projectRecord, view } from '../records.js';
import { give, giveHere } from '../orders.js';
import { canAct, hide, loadBasics } from '../store.js';
import { toast } from '../notices.js';
import { t } from '../texts.js';
import { Field, ProgramFields, useProgram } from './program_fields.js';

/** A form in a dialog: fields, one order, and a secret that is shown once if the order makes one.
 * @param {any} props */
function Form({
  title,
  lead,
  action,
  icon,
  kind = 'primary',
  ready = true,
  order,
  secret,
  children,
}) {
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState('');
  const submit = async () => {
    setBusy(true);
    const done = await order();
    setBusy(false);
    if (!done) return;
    const shown = secret ? done[secret] : '';
    if (shown) setMade(shown);
    else {
      hide();
      toast(t('c.done'));
    }
  };
  if (made) {
    return html`<${Dialog}
      title=${title}
      lead=${t('se2.m.shown')}
      footer=${html`<${Button} kind="primary" onClick=${hide} data-first>${t('c.close')}<//>`}
    >
      <${Code} copy=${made} label=${t('se2.m.passkey')}>${made}<//>
    <//>`;
  }
  const footer = html`<${Button} kind="ghost" onClick=${hide}>${t('c.cancel')}<//
    ><${Button}
      kind=${kind}
      icon=${icon}
      busy=${busy}
      disabled=${!ready || !canAct.value}
      onClick=${submit}
      >${action}<//
    >`;
  return html`<${Dialog} title=${title} lead=${lead} footer=${footer}
    ><div class="col gap-5">${children}</div><//
  >`;
}

/** @param {{id?: string}} props */
export function MemberForm({ id }) {
  const known = id ? view('members')[id] : null;
  const [values, setValues] = useState({
    agent_id: id ?? '',
    name: known?.name ?? '',
    kind: known?.kind ?? 'ai',
    role: known?.role ?? 'worker',
    parent_id: known?.parent_id ?? '',
  });
  const program = useProgram(id, values.kind === 'ai');
  const set = (/** @type {string} */ name) => (/** @type {string} */ value) =>
    setValues((all) => ({ ...all, [name]: value }));
  const others = members.value.filter((one) => one.id !== id).map((one) => [one.id, one.id]);
  const { kind, ...rest } = values;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value));
  const all = { ...given, ...(values.kind === 'ai' ? program.changes : {}) };
  const order = () =>
    known ? giveHere('edit_agent', all) : giveHere('add_agent', { ...all, type: kind });
  return html`<${Form}
    title=${t(known ? 'se2.m.edit' : 'se2.m.add')}
    action=${t(known ? 'c.save' : 'se2.m.add')}
    ready=${values.agent_id.trim()}
    order=${order}
    secret="passkey"
  >
    ${!known && html`<${Field} label=${t('se2.m.id')} value=${values.agent_id} onInput=${set('agent_id')} data-first spellcheck=${false} />`}
    <${Field} label=${t('se2.m.fullname')} value=${values.name} onInput=${set('name')} />
    <div class="grid2">
      ${
        !known &&
        html`<${Select}
          label=${t('se2.m.kind')}
          value=${values.kind}
          onChange=${set('kind')}
          options=${[
            ['ai', t('se2.m.ai')],
            ['human', t('se2.m.human')],
          ]}
        />`
      }
      <${Select}
        label=${t('se2.m.role')}
        value=${values.role}
        onChange=${set('role')}
        options=${[
          ['worker', t('se2.m.worker')],
          ['manager', t('se2.m.manager')],
        ]}
      />
      <${Select}
        label=${t('se2.m.parent')}
        value=${values.parent_id}
        onChange=${set('parent_id')}
        options=${[['', t('c.none')], ...others]}
      />
    </div>
    ${values.kind === 'ai' && program.names && html`<${ProgramFields} ...${program} />`}
  <//>`;
}

/** @param {{id: string}} props */
export const Rekey = ({ id }) =>
  html`<${Form}
    title=${t('se2.m.rekey.t', { a: id })}
    lead=${t('se2.m.rekey.d')}
    action=${t('se2.m.make')}
    icon="key"
    kind="danger-solid"
    order=${() => giveHere('rekey_agent', { agent_id: id })}
    secret="passkey"
  />`;

/** @param {{id: string}} props */
export const NewToken = ({ id }) =>
  html`<${Form}
    title=${t('se2.a.make')}
    lead=${t('se2.a.make.d')}
    action=${t('se2.a.make')}
    icon="key"
    order=${() => give('create_token', { agent_id: id })}
    secret="token"
  />`;

/** @param {{id?: string}} props */
export function ProjectForm({ id }) {
  const [values, setValues] = useState({
    id: '',
    name: id ? (projectRecord.value.name ?? '') : '',
    directory: '',
  });
  const set = (/** @type {string} */ name) => (/** @type {string} */ value) =>
    setValues((all) => ({ ...all, [name]: value }));
  const [pool, setPool] = useState(!!id && !!projectRecord.value.pool);
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim()));
  const order = async () => {
    const done = id
      ? await give('edit_project', { project_id: id, name: values.name.trim(), pool })
      : await give('create_project', { ...given, pool });
    if (done) loadBasics();
    return done;
  };
  const ready = id ? values.name.trim() : values.id.trim();
  return html`<${Form}
    title=${t(id ? 'se2.edit' : 'se2.newproject')}
    action=${t('c.save')}
    ready=${ready}
    order=${order}
  >
    ${!id && html`<${Field} label=${t('se2.p.id')} value=${values.id} onInput=${set('id')} data-first spellcheck=${false} />`}
    <${Field} label=${t('se2.m.fullname')} value=${values.name} onInput=${set('name')} />
    ${!id && html`<${Field} label=${t('se2.p.dir')} value=${values.directory} onInput=${set('directory')} placeholder="/home/anna/shop" spellcheck=${false} />`}
    <div class="row">
      <${Switch} label=${t('se2.pool')} on=${pool} onChange=${setPool} />
      <span class="sm">${t('se2.pool')}<br /><span class="t2">${t('se2.pool.d')}</span></span>
    </div>
  <//>`;
}

/** @param {{tool: string}} props */
export function Announce({ tool }) {
  const [text, setText] = useState('');
  const order = () =>
    tool === 'announce'
      ? give('announce', { content: text.trim() })
      : giveHere('broadcast', { content: text.trim() });
  return html`<${Form}
    title=${t(`an.${tool}`)}
    lead=${t(`an.${tool}.d`)}
    action=${t('c.send')}
    icon="send"
    ready=${text.trim()}
    order=${order}
  >
    <label class="lb"
      >${t('an.text')}<${TextArea} rows="3" value=${text} onInput=${setText} maxlength="4000"
    /></label>
    <${Note}>${t('an.note')}<//>
  <//>`;
}
