// Stopping agents: pause, cancel the task, only tell; and the end of a session by force.
import { html, useState } from '../lib.js';
import { Button, TextArea } from '../ui/controls.js';
import { Dialog, Sure } from '../ui/dialog.js';
import { Avatar, Doing } from '../ui/members.js';
import { doing, sessions, stageOf, taskById } from '../records.js';
import { giveHere, move } from '../orders.js';
import { hide, mayOrder } from '../store.js';
import { announce, toast } from '../notices.js';
import { now, t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @param {string} id */
const sessionOf = (id) => sessions.value.find((one) => one.id === id);

/** How each order travels: what stops an agent is an interrupt, the rest it reads in passing.
 * @type {Record<string, Record<string, string>>} */
const KINDS = {
  pause: { type: 'interrupt', action: 'pause' },
  cancel: { type: 'interrupt', action: 'cancel' },
  resume: { type: 'message', action: 'resume' },
  say: { type: 'message' },
};

/**
 * Tell a session's agent to pause, to stop, to go on, or only something.
 * @param {Rec} session
 * @param {string} how
 * @param {string} [message]
 */
export async function tell(session, how, message = '') {
  const task = session.task_id && taskById.value[session.task_id];
  if (how === 'cancel' && task && mayOrder('move_task')) {
    return move(task, 'cancelled', { reason: message });
  }
  const done = await giveHere('notify', {
    agent_id: session.agent_id,
    ...KINDS[how],
    message: message || t(`int.words.${how}`),
    audience: session.purpose,
  });
  if (done) announce(t(KINDS[how].type === 'interrupt' ? 'int.s.requested' : 'int.told'));
  return done;
}

/** @param {{session: string}} props */
export function Interrupt({ session: id }) {
  const session = sessionOf(id);
  const [how, setHow] = useState('pause');
  const [text, setText] = useState('');
  if (!session) return html`<${Gone} />`;
  const options = ['pause', ...(session.task_id ? ['cancel'] : []), 'say'];
  const submit = () => {
    hide();
    tell(session, how, text.trim());
  };
  const footer = html`<${Button} kind="ghost" onClick=${hide}>${t('c.cancel')}<//>
    <${Button}
      kind=${how === 'cancel' ? 'danger-solid' : 'primary'}
      icon=${how === 'say' ? 'send' : 'hand'}
      disabled=${how === 'say' && !text.trim()}
      onClick=${submit}
      >${t(how === 'say' ? 'c.send' : 'int.go')}<//
    >`;
  return html`<${Dialog}
    title=${t('int.title', { a: session.agent_id })}
    lead=${t('int.lead')}
    footer=${footer}
  >
    <div class="row sm t2">
      <${Avatar} id=${session.agent_id} size=${20} /><b class="med">${session.agent_id}</b> ·
      ${t(`purpose.${session.purpose}`)} · <${Doing} doing=${doing(session, now.value)} small />
    </div>
    <div class="col" role="radiogroup" aria-label=${t('int.button')}>
      ${options.map((one, at) => html`<label key=${one} class="radio"><input type="radio" name="how" checked=${how === one} data-first=${at === 0 ? true : null} onChange=${() => setHow(one)} /><b>${t(`int.${one}`)}</b><span>${t(`int.${one}.d`)}</span></label>`)}
    </div>
    <label class="lb"
      ><span
        >${t('int.message')}
        ${how !== 'say' && html`<span class="t3">(${t('c.optional')})</span>`}</span
      ><${TextArea}
        rows="2"
        value=${text}
        onInput=${setText}
        placeholder=${t('int.message.ph')}
        maxlength="1000"
    /></label>
  <//>`;
}

const Gone = () => html`<${Dialog} title=${t('int.button')} lead=${t('int.gone')} />`;

/** @param {{session: string}} props */
export function ForceStop({ session: id }) {
  const session = sessionOf(id);
  if (!session) return html`<${Gone} />`;
  const end = async () => {
    if (await giveHere('end_session', { session_id: id }))
      toast(t('int.ended', { a: session.agent_id }));
  };
  return html`<${Sure}
    title=${t('int.force.title', { a: session.agent_id })}
    lead=${t('int.force.d')}
    icon="power"
    action=${t('int.force')}
    onGo=${end}
  />`;
}

export const PauseProject = () =>
  html`<${Sure}
    title=${t('ag.pauseproject.t')}
    lead=${t('ag.pauseproject.d')}
    icon="pause"
    kind="primary"
    action=${t('ag.pauseproject')}
    onGo=${() => giveHere('pause_project', {})}
  />`;

export function PauseAll() {
  const stopAll = () => {
    for (const one of sessions.value) if (!stageOf(one, now.value)) tell(one, 'pause');
  };
  return html`<${Sure}
    title=${t('ag.pauseall.t')}
    lead=${t('ag.pauseall.d')}
    icon="pause"
    kind="primary"
    action=${t('ag.pauseall')}
    onGo=${stopAll}
  />`;
}
