// Chat with the members of the project.
import { html, classes, useEffect, useRef, useState } from '../lib.js';
import { LinkButton } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Avatar, Doing, Time } from '../ui/members.js';
import { Empty, Head, Listing, Skeleton, isWide, useTitle } from '../ui/layout.js';
import { useKeys } from '../keys.js';
import { format, place } from '../address.js';
import { agents, chatSession, doing, members, people, view } from '../records.js';
import { me, project } from '../store.js';
import { search } from '../messages.js';
import { now, t } from '../texts.js';
import { Thread } from './thread.js';

/** @typedef {import('../fold.js').Rec} Rec */

export function Chat() {
  const peer = place.value.rest[0];
  const others = members.value.filter((one) => one.id !== me.value.id);
  const shown = peer ?? (isWide() ? (newestPeer() ?? others[0]?.id) : null);
  const [query, setQuery] = useState('');
  const box = useRef(/** @type {HTMLInputElement|null} */ (null));
  useTitle(t('ch.title'));
  useKeys({
    '/': () => box.current?.focus(),
    r: () =>
      /** @type {HTMLElement|null} */ (document.querySelector('.composer textarea'))?.focus(),
  });
  const empty = html`<div class="scroll fill">
    <${Empty} icon="chat" title=${t('ag.empty.t')} text=${t('ag.empty.d')}>
      <div class="row">
        <${LinkButton} kind="primary" href=${format('', 'settings', 'connect')}
          >${t('ag.connect')}<//
        >
      </div>
    <//>
  </div>`;
  return html`<div class=${classes('screen', 'chat', peer && 'detail-open')}>
    <${Head}
      title=${peer && !isWide() ? peer : t('ch.title')}
      back=${peer ? format(project.value, 'chat') : null}
    />
    <div class="body">
      <${Listing} items=${others} empty=${empty}>
        <div class="split">
          <section class="split-list scroll" aria-label=${t('ch.members')}>
            ${
              shown &&
              html`<div class="ch-search searchbox">
                <${Icon} name="search" size="14" />
                <input
                  type="search"
                  ref=${box}
                  value=${query}
                  onInput=${(/** @type {any} */ event) => setQuery(event.currentTarget.value)}
                  placeholder=${t('ch.search', { a: shown })}
                  aria-label=${t('ch.search', { a: shown })}
                />
              </div>`
            }
            ${
              query.trim() && shown
                ? html`<${Results} agent=${shown} query=${query.trim()} />`
                : html`<${Group} title=${t('ch.agents')} list=${agents.value} current=${shown} />
                    <${Group}
                      title=${t('ch.people')}
                      list=${people.value.filter((one) => one.id !== me.value.id)}
                      current=${shown}
                    />`
            }
          </section>
          <div class="split-main">
            ${shown && html`<${Thread} key=${`${project.value}/${shown}`} peer=${shown} />`}
          </div>
        </div>
      <//>
    </div>
  </div>`;
}

const newestPeer = () =>
  Object.values(view('chats'))
    .filter((one) => one.newest > 0 && one.agent_id !== me.value.id)
    .sort((a, b) => b.newest - a.newest)[0]?.agent_id;

/** @param {any} props */
const Group = ({ title, list, current }) =>
  list.length > 0 &&
  html`<h2 class="group-h">${title}</h2>
    <ul>
      ${list.map((/** @type {Rec} */ one) => html`<${Row} key=${one.id} one=${one} current=${one.id === current} />`)}
    </ul>`;

/** @param {{one: Rec, current: boolean}} props */
function Row({ one, current }) {
  const chat = view('chats')[one.id] ?? {};
  const session = chatSession(one.id);
  return html`<li>
    <a
      class="ch-row"
      href=${format(project.value, 'chat', one.id)}
      aria-current=${current ? 'true' : null}
    >
      <${Avatar} id=${one.id} size=${32} />
      <span class="ch-t">
        <span class="bold sm cut">${one.id}</span>
        <span class="xs t2">
          ${session ? html`<${Doing} doing=${doing(session, now.value)} small />` : one.kind === 'human' ? one.name : t('ss.off')}
        </span>
      </span>
      <span class="in-meta">
        <span class="xs t3">${chat.newest_at && html`<${Time} at=${chat.newest_at} />`}</span>
        ${chat.unread > 0 && html`<span class="n num" aria-label=${t('ch.unread', { n: chat.unread })}>${chat.unread}</span>`}
      </span>
    </a>
  </li>`;
}

/** @param {{agent: string, query: string}} props */
function Results({ agent, query }) {
  const [found, setFound] = useState(/** @type {Rec[]|null} */ (null));
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(async () => {
      const list = await search(agent, query).catch(() => []);
      if (wanted) setFound(list);
    }, 200);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [agent, query]);
  if (!found) return html`<${Skeleton} rows=${3} />`;
  if (!found.length)
    return html`<${Empty} small icon="search" title=${t('ch.noresult', { q: query })} />`;
  return html`<h2 class="group-h" role="status">${t('ch.results', { n: found.length })}</h2>
    <ul>
      ${found.map(
        (message) =>
          html`<li key=${message.id}>
            <a class="ch-row" href=${format(project.value, 'chat', agent, message.id)}>
              <${Avatar} id=${message.senderId} size=${24} />
              <span class="ch-t"
                ><span class="sm bold">${message.senderId}</span
                ><span class="two xs t2">${message.content}</span></span
              >
              <span class="xs t3"><${Time} at=${message.createdAt} /></span>
            </a>
          </li>`,
      )}
    </ul>`;
}
