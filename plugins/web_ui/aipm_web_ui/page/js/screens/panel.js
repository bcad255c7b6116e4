// A plugin's panel: declared, drawn by the page. Nothing of it runs as script here.
import { html, useState } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Bar, Empty } from '../ui/layout.js';
import { TaskLink, Time, Who } from '../ui/members.js';
import { Markdown, Visible } from '../ui/text.js';
import { view } from '../records.js';
import { canAct, mayOrder, panels, project, tools } from '../store.js';
import { give } from '../orders.js';
import { toast } from '../notices.js';
import { count, locale, millis, t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

/** A text in both languages, or one. @param {any} text */
const worded = (text) =>
  (text && typeof text === 'object' ? (text[locale()] ?? text.en) : text) ?? '';

/** The panels of a place of the page. @param {{slot: string, of?: string}} props */
export const Slot = ({ slot, of }) =>
  panels.value
    .filter((panel) => panel.slot === slot && (!of || panel.plugin === of))
    .map((panel) => html`<${Panel} key=${`${panel.plugin}/${panel.name}`} panel=${panel} />`);

/** @param {{panel: Rec}} props */
export function Panel({ panel }) {
  const Body = BODIES[panel.kind] ?? (() => null);
  return html`<section class="card panel" aria-label=${worded(panel.title)}>
    <header>
      <h3>${worded(panel.title)}</h3>
      <span class="xs t3">${t('pl.panel.by', { p: panel.plugin })}</span>
    </header>
    <${Body} panel=${panel} records=${recordsOf(panel)} />
  </section>`;
}

/** @param {Rec} panel */
function recordsOf(panel) {
  const list = Object.values(view(panel.view));
  const by = panel.sort_by;
  if (!by) return list;
  const order = (/** @type {Rec} */ a, /** @type {Rec} */ b) =>
    a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0;
  return list.sort((a, b) => (panel.newest_first ? -order(a, b) : order(a, b)));
}

/** @type {Record<string, (value: any) => unknown>} */
const SHOWN = {
  text: (value) => html`<${Visible} text=${String(value ?? '')} />`,
  number: (value) =>
    html`<span class="num">${typeof value === 'number' ? count(value) : '—'}</span>`,
  time: (value) => html`<${Time} at=${value} />`,
  member: (value) => (value ? html`<${Who} id=${String(value)} />` : '—'),
  task: (value) => (value ? html`<${TaskLink} id=${String(value)} plain />` : '—'),
  share: (value) =>
    html`<${Bar}
      value=${Number(value) || 0}
      label=${`${Math.round((Number(value) || 0) * 100)} %`}
    />`,
};
/** @param {Rec} column @param {Rec} record */
const cell = (column, record) => (SHOWN[column.shows] ?? SHOWN.text)(record[column.field]);

/** @type {Record<string, (props: any) => unknown>} */
const BODIES = {
  table: ({ panel, records }) =>
    records.length
      ? html`<div
          class="tablebox scroll"
          tabindex="0"
          role="group"
          aria-label=${worded(panel.title)}
        >
          <table class="table">
            <thead>
              <tr>
                ${panel.columns.map((/** @type {Rec} */ column) => html`<th key=${column.field} scope="col">${worded(column.label)}</th>`)}
              </tr>
            </thead>
            <tbody>
              ${records.map(
                (/** @type {Rec} */ record, /** @type {number} */ at) =>
                  html`<tr key=${record.id ?? at}>
                    ${panel.columns.map((/** @type {Rec} */ column) => html`<td key=${column.field}>${cell(column, record)}</td>`)}
                  </tr>`,
              )}
            </tbody>
          </table>
        </div>`
      : html`<${Nothing} />`,
  stat: ({ panel, records }) =>
    html`<dl class="stats">
      ${panel.columns.map(
        (/** @type {Rec} */ column) =>
          html`<div key=${column.field}>
            <dt>${worded(column.label)}</dt>
            <dd>${records[0] ? cell(column, records[0]) : '—'}</dd>
          </div>`,
      )}
    </dl>`,
  list: ({ panel, records }) =>
    records.length
      ? html`<ul class="tl">
          ${records.map((/** @type {Rec} */ record, /** @type {number} */ at) => html`<li key=${record.id ?? at}>${panel.columns.map((/** @type {Rec} */ column) => html`<span key=${column.field}>${cell(column, record)}</span>`)}</li>`)}
        </ul>`
      : html`<${Nothing} />`,
  timeline: ({ panel, records }) => {
    const [when, ...rest] = panel.columns;
    const lines = [...records].sort((a, b) => millis(b[when.field]) - millis(a[when.field]));
    return lines.length
      ? html`<ol class="tline">
          ${lines.map(
            (/** @type {Rec} */ record, /** @type {number} */ at) =>
              html`<li key=${record.id ?? at}>
                <span class="xs t3"><${Time} at=${record[when.field]} /></span
                >${rest.map((/** @type {Rec} */ column) => html`<span key=${column.field} class="grow">${cell(column, record)}</span>`)}
              </li>`,
          )}
        </ol>`
      : html`<${Nothing} />`;
  },
  markdown: ({ panel, records }) =>
    records.map(
      (/** @type {Rec} */ record, /** @type {number} */ at) =>
        html`<div class="panel-in" key=${at}>
          <${Markdown} tree=${record[panel.columns[0].field]} />
        </div>`,
    ),
  form: ({ panel }) => html`<${Form} panel=${panel} />`,
};
const Nothing = () => html`<${Empty} small icon="list" title=${t('bo.empty.col')} />`;

/** A form asks for the texts of a tool's arguments and calls the tool in my name. @param {{panel: Rec}} props */
function Form({ panel }) {
  const tool = tools.value[panel.tool];
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  if (!tool || !mayOrder(panel.tool))
    return html`<p class="panel-in sm t2">${t('pl.notoffered', { tool: panel.tool })}</p>`;
  const schema = tool.inputSchema?.properties ?? {};
  const fields = Object.keys(schema).filter((name) => name !== 'project_id');
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim()));
    const here = 'project_id' in schema ? { project_id: project.value } : {};
    if (await give(panel.tool, { ...here, ...given })) {
      setValues({});
      toast(t('c.done'));
    }
  };
  return html`<form class="panel-in col gap-4" onSubmit=${submit}>
    ${fields.map((name) => html`<label key=${name} class="lb">${schema[name].title ?? name}<input type="text" value=${values[name] ?? ''} onInput=${(/** @type {any} */ event) => setValues({ ...values, [name]: event.currentTarget.value })} /></label>`)}
    <div class="row">
      <${Button} kind="primary" type="submit" disabled=${!canAct.value}
        >${tool.title ?? panel.tool}<//
      >
    </div>
  </form>`;
}
