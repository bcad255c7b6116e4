// Agents talking to each other in turns: who is next, and how many turns are left.
import { html, classes, useEffect, useLayoutEffect, useRef } from '../lib.js';
import { Icon } from '../ui/icons.js';
import { Avatar, TaskLink, Time } from '../ui/members.js';
import { Said } from '../ui/text.js';
import { Bar, Empty, Head, Listing, Skeleton, isWide, useTitle } from '../ui/layout.js';
import { useKeys } from '../keys.js';
import { format, goTo, place } from '../address.js';
import { conversations, inbox } from '../records.js';
import { project } from '../store.js';
import { refresh, thread } from '../messages.js';
import { clock, millis, t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @type {Record<string, [string, string]>} */
const STATES = {
  active: ['talks', 'accent'],
  pending: ['clock', 'you'],
  ended: ['check', ''],
  expired: ['hourglass', ''],
};
/** @param {{state: string}} props */
const State = ({ state }) =>
  html`<span class=${classes('tag', STATES[state]?.[1])}
    ><${Icon} name=${STATES[state]?.[0] ?? 'talks'} size="12" />${t(`co.${state}`)}</span
  >`;

/** @param {Rec} one */
const nameOf = (one) => one.purpose || `${one.initiator_id} ↔ ${one.participant_id}`;

export function Conversations() {
  const list = conversations.value;
  const id = place.value.rest[0];
  const current = list.find((one) => one.id === id) ?? (isWide() && !id ? list[0] : undefined);
  useTitle(t('co.title'));
  const step = (/** @type {number} */ by) => {
    const at = current ? list.indexOf(current) : -1;
    const next = list[Math.max(0, Math.min(list.length - 1, at + by))];
    if (next) goTo(format(project.value, 'conversations', next.id));
  };
  useKeys({ j: () => step(1), k: () => step(-1) });
  return html`<div class=${classes('screen', 'talks', id && 'detail-open')}>
    <${Head}
      title=${t('co.title')}
      sub=${t('co.sub')}
      back=${id ? format(project.value, 'conversations') : null}
    />
    <div class="body">
      <${Listing}
        items=${list}
        empty=${html`<div class="scroll fill"><${Empty} icon="talks" title=${t('co.empty.t')} text=${t('co.empty.d')} /></div>`}
      >
        <div class="split">
          <section class="split-list scroll" aria-label=${t('co.title')}>
            <ul>
              ${list.map((one) => html`<${Row} key=${one.id} one=${one} current=${one === current} />`)}
            </ul>
          </section>
          <div class="split-main">
            ${current ? html`<${Turns} key=${current.id} one=${current} />` : id && html`<${Empty} icon="talks" title=${t('nf.title')} text=${t('nf.d')} />`}
          </div>
        </div>
      <//>
    </div>
  </div>`;
}

/** @param {{one: Rec, current: boolean}} props */
const Row = ({ one, current }) =>
  html`<li>
    <a
      class="co-row"
      href=${format(project.value, 'conversations', one.id)}
      aria-current=${current ? 'true' : null}
    >
      <span class="duo"
        ><${Avatar} id=${one.initiator_id} size=${24} /><${Avatar}
          id=${one.participant_id}
          size=${24}
      /></span>
      <span class="ch-t">
        <span class="bold sm cut">${nameOf(one)}</span>
        <span class="xs t2">${one.initiator_id} ↔ ${one.participant_id}</span>
        <span class="row co-prog">
          <${Bar}
            value=${one.turns / one.max_turns}
            tone=${one.state === 'active' ? '' : 'mute'}
            label=${t('co.turn', { n: one.turns, m: one.max_turns })}
          />
          <span class="xs t3 num nowrap">${one.turns}/${one.max_turns}</span>
        </span>
      </span>
      <span class="in-meta"
        ><${State} state=${one.state} /><span class="xs t3"
          ><${Time} at=${one.ended_at ?? one.created_at} /></span
      ></span>
    </a>
  </li>`;

/** The initiator speaks first, then they take turns. @param {Rec} one */
const nextOf = (one) => (one.turns % 2 ? one.participant_id : one.initiator_id);

/** @param {{one: Rec}} props */
function Turns({ one }) {
  const box = useRef(/** @type {any} */ (null));
  const { list, loaded } = thread(one.initiator_id);
  const said = list.filter((message) => message.conversationId === one.id);
  useEffect(() => {
    refresh(one.initiator_id);
  }, [one.id, one.turns]);
  useLayoutEffect(() => {
    box.current.scrollTop = box.current.scrollHeight;
  }, [said.length]);
  return html`<section class="thread" aria-label=${nameOf(one)}>
    <header class="th-h">
      <span class="duo"
        ><${Avatar} id=${one.initiator_id} size=${28} /><${Avatar}
          id=${one.participant_id}
          size=${28}
      /></span>
      <div class="col th-n">
        <h2>${nameOf(one)}</h2>
        <span class="xs t2"
          >${one.initiator_id} ↔ ${one.participant_id} ·
          ${t('co.startedby', { a: one.initiator_id })}</span
        >
      </div>
      <span class="grow"></span><${State} state=${one.state} />
    </header>
    <div class="co-meter">
      <ol aria-label=${t('co.turn', { n: one.turns, m: one.max_turns })}>
        ${Array.from({ length: one.max_turns }, (_, at) => html`<li key=${at} class=${at < one.turns ? (at % 2 ? 'b' : 'a') : ''}></li>`)}
      </ol>
      <span class="sm num nowrap">${t('co.turn', { n: one.turns, m: one.max_turns })}</span>
    </div>
    <div class="th-wrap">
      <div class="th-log scroll" ref=${box} role="log" tabindex="0" aria-label=${nameOf(one)}>
        ${
          loaded || said.length
            ? html`<ol class="turns">
                ${said.map((message, at) => html`<${Turn} key=${message.id} message=${message} number=${at + 1} most=${one.max_turns} />`)}
              </ol>`
            : html`<${Skeleton} rows=${4} />`
        }
        <${Foot} one=${one} />
      </div>
    </div>
    <footer class="co-foot row wrap xs t2">
      <${Icon} name="info" size="14" /><span>${t('co.limit', { m: one.max_turns })}</span>
      ${one.task_id && html`<span class="grow"></span><span class="row gap-1">${t('co.for')} <${TaskLink} id=${one.task_id} plain /></span>`}
      ${one.delegation_id && html`<span class="tag"><${Icon} name="handover" size="12" />${one.delegation_id}</span>`}
    </footer>
  </section>`;
}

/** @param {any} props */
const Turn = ({ message, number, most }) =>
  html`<li class="turn">
    <span class="turn-n num"
      ><span class="sr">${t('co.turn', { n: number, m: most })}</span
      ><span aria-hidden="true">${number}</span></span
    >
    <${Avatar} id=${message.senderId} size=${24} />
    <div class="bub-in">
      <div class="bub-h">
        <b class="med">${message.senderId}</b
        ><span class="t3 num">${clock(millis(message.createdAt))}</span>
      </div>
      <div class="bub-b"><${Said} text=${message.content} /></div>
    </div>
  </li>`;

/** @param {{one: Rec}} props */
function Foot({ one }) {
  if (one.state === 'active' || one.state === 'pending') {
    const next = nextOf(one);
    const held = inbox.value.find(
      (item) => item.kind === 'confirmation' && item.agent_id === next && item.purpose === 'chat',
    );
    return html`<div class=${classes('co-next', held && 'held')}>
      <${Icon} name=${held ? 'shield' : 'clock'} size="14" /><span
        >${t(held ? 'co.held' : 'co.next', { a: next })}</span
      >
      ${held && html`<a class="btn small" href=${format(project.value, 'inbox', held.id)}>${t('ag.answer')}</a>`}
    </div>`;
  }
  return html`<p class="co-next">
    <${Icon} name=${one.state === 'ended' ? 'check' : 'hourglass'} size="14" />
    ${one.ended_by ? t('co.ended.by', { a: one.ended_by }) : t(`co.why.${one.end_reason ?? 'timeout'}`)}
    <span class="t3 num">${clock(millis(one.ended_at))}</span>
  </p>`;
}
