// First run: five steps that tick themselves as the project comes to life.
import { html, classes } from '../lib.js';
import { Button, LinkButton } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Command } from '../ui/text.js';
import { Head, useTitle } from '../ui/layout.js';
import { format } from '../address.js';
import { activity, agents, sessions, tasks, waiting } from '../records.js';
import { mayOrder, project, projects, settled, show } from '../store.js';
import { t } from '../texts.js';
import { Connect } from '../settings/connect.js';

/** @returns {boolean[]} */
function steps() {
  const answered =
    Object.values(settled.value).some((one) => one.how) ||
    activity.value.some((line) =>
      ['confirmation.approved', 'confirmation.denied', 'task.approved', 'task.rejected'].includes(
        line.verb,
      ),
    );
  return [
    true,
    (projects.value ?? []).length > 0,
    sessions.value.length > 0,
    tasks.value.length > 0,
    answered,
  ];
}

export function Start() {
  const done = steps();
  const at = done.indexOf(false);
  useTitle(t('fr.title'));
  return html`<div class="screen">
    <${Head} title=${t('fr.title')} count=${t('fr.progress', { n: done.filter(Boolean).length })} />
    <div class="body scroll" tabindex="0">
      <div class="fr">
        <p class="lg t2 phrase">${t('fr.lead')}</p>
        <ol class="fr-list">
          ${done.map(
            (ok, i) =>
              html`<li
                key=${i}
                class=${classes('fr-step', ok && 'done', i === at && 'now')}
                aria-current=${i === at ? 'step' : null}
              >
                <span class="fr-dot"
                  >${ok ? html`<${Icon} name="check" size="14" />` : html`<span class="num">${i + 1}</span>`}</span
                >
                <div class="fr-b">
                  <h2>
                    ${t(`fr.s${i + 1}`)}<span
                      class=${classes('tag', ok ? 'good' : i === at && 'accent')}
                      >${t(ok ? 'fr.done' : i === at ? 'fr.now' : 'fr.later')}</span
                    >
                  </h2>
                  <p class="sm t2 phrase">${t(`fr.s${i + 1}.d`, { url: location.host })}</p>
                  ${i === at && html`<div class="fr-do"><${Step} number=${i} /></div>`}
                </div>
              </li>`,
          )}
        </ol>
        <p class="note t2"><${Icon} name="refresh" size="14" />${t('fr.watch')}</p>
        <div class="fr-demo">
          <div class="grow">
            <p class="med">${t('fr.demo')}</p>
            <p class="sm t2">${t('fr.demo.d')}</p>
          </div>
          <${Command} text="aipm demo" />
        </div>
      </div>
    </div>
  </div>`;
}

/** @param {{number: number}} props */
function Step({ number }) {
  if (number === 1) return html`<${Command} text="aipm project add shop --dir ~/shop" />`;
  if (number === 2) {
    return html`${!agents.value.length && html`<${Command} text=${`aipm agent add worker-1 --project ${project.value}`} />`}<${Connect}
        bare
      />`;
  }
  if (number === 3) {
    return html`<${Command}
        text=${`aipm task add --project ${project.value} --title "…" --status todo`}
      />
      ${mayOrder('create_task') && html`<div class="row"><${Button} kind="primary" icon="plus" onClick=${() => show('create')}>${t('bo.new')}<//></div>`}`;
  }
  return html`<div class="row">
    <${LinkButton} icon="inbox" href=${format(project.value, 'inbox')}
      >${t('nav.inbox')} ${waiting.value.length || ''}<//
    >
  </div>`;
}
