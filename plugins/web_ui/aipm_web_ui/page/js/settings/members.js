// Who is in the project, and their passkeys.
import { html } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Menu } from '../ui/menu.js';
import { Avatar } from '../ui/members.js';
import { Listing } from '../ui/layout.js';
import { members } from '../records.js';
import { canAct, mayOrder, show } from '../store.js';
import { t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

export function Members() {
  const manages = mayOrder('rekey_agent') || mayOrder('edit_agent');
  return html`<div class="row wrap">
      <h2 class="grow">${t('se2.members')}</h2>
      ${mayOrder('add_agent') && html`<${Button} icon="plus" disabled=${!canAct.value} onClick=${() => show('member')}>${t('se2.m.add')}<//>`}
    </div>
    <${Listing}>
      <div class="set-box tablebox scroll" tabindex="0" role="group" aria-label=${t('se2.members')}>
        <table class="table stack">
          <thead>
            <tr>
              <th scope="col">${t('se2.m.name')}</th>
              <th scope="col">${t('se2.m.kind')}</th>
              <th scope="col">${t('se2.m.role')}</th>
              <th scope="col">${t('se2.m.parent')}</th>
              <th scope="col">${t('se2.m.now')}</th>
              ${manages && html`<td><span class="sr">${t('c.more')}</span></td>`}
            </tr>
          </thead>
          <tbody>
            ${members.value.map((one) => html`<${Row} key=${one.id} one=${one} manages=${manages} />`)}
          </tbody>
        </table>
      </div>
    <//>`;
}

/** @param {{one: Rec, manages: boolean}} props */
function Row({ one, manages }) {
  const items = [
    mayOrder('edit_agent') && {
      label: t('se2.m.edit'),
      icon: 'edit',
      disabled: !canAct.value,
      onSelect: () => show('member', { id: one.id }),
    },
    mayOrder('rekey_agent') && {
      label: t('se2.m.rekey'),
      icon: 'key',
      disabled: !canAct.value,
      onSelect: () => show('rekey', { id: one.id }),
    },
  ];
  return html`<tr>
    <th scope="row">
      <span class="who"
        ><${Avatar} id=${one.id} size=${24} /><span class="col"
          ><span class="med">${one.id}</span
          >${one.name !== one.id && html`<span class="xs t3">${one.name}</span>`}</span
        ></span
      >
    </th>
    <td class="nowrap s-kind">${t(`se2.m.${one.kind}`)}</td>
    <td class="nowrap s-role">${t(`se2.m.${one.role}`)}</td>
    <td class="nowrap s-parent">${one.parent_id ?? '—'}</td>
    <td class="nowrap s-seen xs">
      ${one.kind === 'human' ? '—' : t(one.online ? 'se2.m.online' : 'ss.off')}
    </td>
    ${manages && html`<td class="s-act"><${Menu} size="small" label=${t('bo.actions', { t: one.id })} items=${items} /></td>`}
  </tr>`;
}
