// Texts of others: a tree of allowed elements or plain text nodes, never HTML.
import { html, classes } from '../lib.js';
import { Copy } from './controls.js';
import { Icon } from './icons.js';
import { pieces } from '../hidden_characters.js';

/** @typedef {{type: string, text?: string, children?: Node_[], [more: string]: any}} Node_ */

/** @type {Record<string, (node: Node_, inside: unknown) => unknown>} */
const ELEMENTS = {
  paragraph: (_, inside) => html`<p>${inside}</p>`,
  heading: (_, inside) => html`<p class="md-h">${inside}</p>`,
  list: ({ ordered, start }, inside) =>
    ordered
      ? html`<ol start=${start ?? 1}>
          ${inside}
        </ol>`
      : html`<ul>
          ${inside}
        </ul>`,
  item: (_, inside) => html`<li>${inside}</li>`,
  quote: (_, inside) => html`<blockquote>${inside}</blockquote>`,
  code: ({ text }) => html`<pre tabindex="0">${text}</pre>`,
  rule: () => html`<hr />`,
  table: (_, inside) =>
    html`<table class="table">
      <tbody>
        ${inside}
      </tbody>
    </table>`,
  row: (_, inside) =>
    html`<tr>
      ${inside}
    </tr>`,
  cell: ({ header }, inside) => (header ? html`<th>${inside}</th>` : html`<td>${inside}</td>`),
  strong: (_, inside) => html`<strong>${inside}</strong>`,
  em: (_, inside) => html`<em>${inside}</em>`,
  strike: (_, inside) => html`<s>${inside}</s>`,
  code_span: ({ text }) => html`<code class="ic">${text}</code>`,
  link: ({ href }, inside) =>
    safeLink(href)
      ? html`<a href=${href} rel="noopener noreferrer" target="_blank">${inside}</a>`
      : inside,
  break: () => html`<br />`,
  text: ({ text }) => html`<${Visible} text=${text ?? ''} />`,
};

/** @param {unknown} href */
const safeLink = (href) => typeof href === 'string' && /^(https?:|mailto:)/i.test(href);

/** @param {Node_[]} nodes @returns {unknown} */
const drawn = (nodes) =>
  nodes.map((node) =>
    (ELEMENTS[node.type] ?? ELEMENTS.text)(node, node.children ? drawn(node.children) : null),
  );

/** A tree of the server. @param {{tree?: Node_[]|null, text?: string|null}} props */
export const Markdown = ({ tree, text }) =>
  html`<div class="md">
    ${tree ? drawn(tree) : html`<p class="pre"><${Visible} text=${text ?? ''} /></p>`}
  </div>`;

/** A text whose hidden characters can be seen. @param {{text: string}} props */
export const Visible = ({ text }) =>
  pieces(text).map((part) =>
    part.hidden ? html`<span class="hidden-char">${part.text}</span>` : part.text,
  );

const MARKER = /(`[^`\n]+`|^\s{0,20}[@＠]{2}[^\s:：]{1,20}[:：])/;
/** A message: plain text with its marker and its code made visible. @param {{text: string}} props */
export const Said = ({ text }) =>
  html`<p class="pre">
    ${text
      .split(MARKER)
      .map((part, at) =>
        at % 2 === 0
          ? html`<${Visible} text=${part} />`
          : part.startsWith('`')
            ? html`<code class="ic">${part.slice(1, -1)}</code>`
            : html`<span class="marker">${part.trim()}</span>`,
      )}
  </p>`;

/** @param {any} props */
export const Code = ({ children, label, copy, cls }) =>
  html`<figure class=${classes('code', cls)}>
    <pre tabindex="0" aria-label=${label}>${children}</pre>
    ${copy && html`<div class="code-copy"><${Copy} text=${copy} /></div>`}
  </figure>`;

/** A line for a terminal. @param {{text: string}} props */
export const Command = ({ text }) =>
  html`<div class="cmd">
    <span class="t3" aria-hidden="true">$</span><code>${text}</code><${Copy} text=${text} />
  </div>`;

/** @param {any} props */
export const Note = ({ icon = 'info', children, cls = 't2' }) =>
  html`<p class=${classes('note', cls)}>
    <${Icon} name=${icon} size="14" /><span>${children}</span>
  </p>`;
