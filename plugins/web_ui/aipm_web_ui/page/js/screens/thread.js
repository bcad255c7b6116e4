// The messages of one member, and the place to write the next one.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib.js';
import { Button, Segments } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Avatar, Doing } from '../ui/members.js';
import { Empty, Skeleton } from '../ui/layout.js';
import { place } from '../address.js';
import { chatSession, doing, view } from '../records.js';
import { me } from '../store.js';
import { earlier, refresh, sending, thread } from '../messages.js';
import { day, millis, now, t } from '../texts.js';
import { Bubble } from './bubble.js';
import { Composer } from './composer.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** @param {{peer: string}} props */
export function Thread({ peer }) {
  const one = view('members')[peer];
  const chat = view('chats')[peer] ?? {};
  const { list, start, loaded } = thread(peer);
  const [mode, setMode] = useState('mine');
  const session = chatSession(peer);
  useEffect(() => {
    refresh(peer);
  }, [peer, chat.newest, chat.seen, chat.unread]);
  const mine = (/** @type {Rec} */ message) =>
    message.senderId === me.value.id || message.receiverId === me.value.id;
  const shown = mode === 'mine' ? list.filter(mine) : list;
  const waits = sending.value.filter((message) => message.to === peer);
  const agent = one?.kind !== 'human';
  if (!one) return html`<${Empty} icon="chat" title=${t('nf.title')} text=${t('nf.d')} />`;
  return html`<section class="thread" aria-label=${peer}>
    <header class="th-h">
      <${Avatar} id=${peer} size=${28} />
      <div class="col th-n">
        <h2>${one.name || peer}</h2>
        <span class="xs t2 row gap-1"
          >${session && html`<${Doing} doing=${doing(session, now.value)} small />`}${!session && agent && t('ss.off')}</span
        >
      </div>
      <span class="grow"></span>
      ${
        agent &&
        html`<${Segments}
          label=${t('c.filter')}
          value=${mode}
          onChange=${setMode}
          options=${[
            { value: 'mine', label: t('ch.withme') },
            { value: 'all', label: t('ch.all', { a: peer }) },
          ]}
        />`
      }
    </header>
    <${Log}
      shown=${shown}
      waits=${waits}
      peer=${peer}
      all=${mode === 'all'}
      start=${start}
      loaded=${loaded}
    />
    ${agent && !session && html`<p class="note ch-off"><${Icon} name="hourglass" size="14" />${t('ch.offline')}</p>`}
    <${Composer} key=${peer} peer=${peer} agent=${agent} />
  </section>`;
}

/** @param {any} props */
function Log({ shown, waits, peer, all, start, loaded }) {
  const box = useRef(/** @type {any} */ (null));
  const stuck = useRef(true);
  const known = useRef(0);
  const [fresh, setFresh] = useState(0);
  const hit = place.value.rest[1];
  const total = shown.length + waits.length;
  useLayoutEffect(() => {
    const element = box.current;
    if (stuck.current) element.scrollTop = element.scrollHeight;
    else if (total > known.current) setFresh((n) => n + total - known.current);
    known.current = total;
  }, [total]);
  useEffect(
    () => box.current?.querySelector('.hit')?.scrollIntoView({ block: 'center' }),
    [hit, loaded],
  );
  const scrolled = () => {
    const { scrollHeight, scrollTop, clientHeight } = box.current;
    stuck.current = scrollHeight - scrollTop - clientHeight < 60;
    if (stuck.current && fresh) setFresh(0);
  };
  const down = () => {
    box.current.scrollTop = box.current.scrollHeight;
    setFresh(0);
  };
  return html`<div class="th-wrap">
    <div
      class="th-log scroll"
      ref=${box}
      role="log"
      aria-label=${t('ch.log', { a: peer })}
      tabindex="0"
      onScroll=${scrolled}
    >
      ${start > 0 && html`<p class="earlier"><${Button} size="small" onClick=${() => earlier(peer)}>${t('ch.earlier')}<//></p>`}
      ${
        total
          ? html`<ul class="bubs">
              ${shown.map((/** @type {Rec} */ message, /** @type {number} */ at) => html`${newDay(shown, at) && html`<li key=${`d${message.seq}`} class="daysep">${day(millis(message.createdAt))}</li>`}<${Bubble} key=${message.id} message=${message} all=${all} hit=${message.id === hit} />`)}
              ${waits.map((/** @type {any} */ one) => html`<${Bubble} key=${one.key} message=${{ senderId: me.value.id, receiverId: peer, content: one.content, createdAt: new Date(one.at).toISOString(), waits: true }} />`)}
            </ul>`
          : loaded
            ? html`<${Empty} icon="chat" title=${t('ch.empty.t')} text=${t('ch.empty.d')} />`
            : html`<${Skeleton} rows=${4} />`
      }
    </div>
    ${fresh > 0 && html`<button type="button" class="newpill" onClick=${down}><${Icon} name="arrowDown" size="14" />${t('ch.newer', { n: fresh })}</button>`}
  </div>`;
}

/** @param {Rec[]} list @param {number} at */
const newDay = (list, at) =>
  at === 0 ||
  new Date(list[at - 1].createdAt).toDateString() !== new Date(list[at].createdAt).toDateString();
