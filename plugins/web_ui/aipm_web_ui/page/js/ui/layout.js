// What every screen has: a head, facts, and the three states of a list.
import { html, classes, useEffect } from '../lib.js';
import { Button, LinkButton } from './controls.js';
import { Icon } from './icons.js';
import { waiting, projectRecord } from '../records.js';
import { failure, link, loadBasics, project, retryNow, world } from '../store.js';
import { explain } from '../orders.js';
import { t } from '../texts.js';

/** @param {any} props */
export const Head = ({ title, sub, children, back, count, tools }) =>
  html`<header class="head">
    ${
      back &&
      html`<a class="btn ghost square back" href=${back} aria-label=${t('c.back')}
        ><${Icon} name="left"
      /></a>`
    }
    <div class="head-title">
      <h1 tabindex="-1">${title}</h1>
      ${count != null && html`<span class="badge num">${count}</span>`}
      ${sub && html`<span class="t3 sm sub">${sub}</span>`}
    </div>
    <div class="head-tools">${tools}</div>
    ${children && html`<div class="head-row">${children}</div>`}
  </header>`;

/** @param {any} props */
export const Fact = ({ name, children }) =>
  html`<div class="fact">
    <dt>${name}</dt>
    <dd>${children}</dd>
  </div>`;

/** @param {{value: number, label: string, tone?: string}} props */
export const Bar = ({ value, label, tone }) =>
  html`<span class=${classes('bar', tone)} role="img" aria-label=${label}>
    <span style=${{ width: `${Math.round(Math.min(1, value) * 100)}%` }}></span>
  </span>`;

/** @param {any} props */
export const Empty = ({ icon, title, text, children, small, tone }) =>
  html`<div class=${classes('empty', small && 'small')}>
    <span class=${classes('empty-icon', tone)}><${Icon} name=${icon} size="24" /></span>
    <h2>${title}</h2>
    ${text && html`<p class="t2 phrase">${text}</p>`}${children}
  </div>`;

/** @param {{rows?: number, kind?: string}} props */
export const Skeleton = ({ rows = 6, kind = 'row' }) =>
  html`<div class=${classes('skel', kind)} role="status" aria-label=${t('c.loading')}>
    ${Array.from(
      { length: rows },
      (_, i) =>
        html`<div key=${i} class="sk">
          <span class="b b1"></span>
          <span class="b b2" style=${{ width: `${70 - ((i * 17) % 40)}%` }}></span>
          <span class="b b3" style=${{ width: `${40 - ((i * 11) % 20)}%` }}></span>
        </div>`,
    )}
  </div>`;

function Failed() {
  const again = () => {
    loadBasics();
    retryNow();
  };
  return html`<div class="empty" role="alert">
    <span class="empty-icon bad"><${Icon} name="alert" size="24" /></span>
    <h2>${t('er.title')}</h2>
    <p class="t2">${failure.value ? explain(failure.value) : t('er.unreachable')}</p>
    <div class="row"><${Button} icon="refresh" onClick=${again}>${t('c.retry')}<//></div>
  </div>`;
}

/** A list: not there yet, not to be had, empty, or itself. @param {any} props */
export function Listing({ items, empty, skeleton, children }) {
  if (link.value.state === 'gone') return html`<${NotHere} />`;
  if (!world.value.complete) {
    const failed = failure.value || link.value.state === 'offline';
    return failed ? html`<${Failed} />` : (skeleton ?? html`<${Skeleton} />`);
  }
  return items && !items.length && empty ? empty : children;
}

/** The same words for what is unknown, gone or foreign: the server does not tell them apart either. */
export const NotHere = () =>
  html`<div class="scroll fill">
    <${Empty} icon="search" title=${t('nf.title')} text=${t('nf.d')}>
      <div class="row"><${LinkButton} kind="primary" href="#/">${t('nf.back')}<//></div>
    <//>
  </div>`;

/** Put the screen's name and what waits into the window's title. @param {string} title */
export function useTitle(title) {
  const open = waiting.value.length;
  const name = projectRecord.value.id ?? project.value;
  useEffect(() => {
    document.title = [`${open ? `(${open}) ` : ''}${title}`, name, 'aipm']
      .filter(Boolean)
      .join(' · ');
  }, [title, open, name]);
}

/** Whether there is room for a list and its detail beside each other. */
export const isWide = () => matchMedia('(min-width: 900px)').matches;
