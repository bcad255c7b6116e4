// My sign-ins and tokens: seen, made and taken back.
import { html, useEffect, useState } from '../lib.js';
import { Button } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Time } from '../ui/members.js';
import { Skeleton } from '../ui/layout.js';
import { give } from '../orders.js';
import { canAct, me, mayOrder, show, overlay } from '../store.js';
import { millis, stamp, t } from '../texts.js';

/** @typedef {import('../fold.js').Rec} Rec */

export function Access() {
  const [tokens, setTokens] = useState(/** @type {Rec[]|null} */ (null));
  const load = async () => {
    const answer = await give('list_tokens', {});
    setTokens((answer?.tokens ?? []).filter((/** @type {Rec} */ one) => one.state === 'valid'));
  };
  useEffect(() => {
    if (!overlay.value) load();
  }, [overlay.value]);
  const revoke = async (/** @type {Rec} */ token) => {
    if (await give('revoke_token', { token_id: token.id })) load();
  };
  return html`<h2>${t('se2.a.tokens')}</h2>
    <p class="t2 sm">${t('se2.a.lead')}</p>
    ${
      tokens === null
        ? html`<${Skeleton} rows=${3} />`
        : html`<div class="set-box">
            ${tokens.map((token) => html`<${Row} key=${token.id} token=${token} onRevoke=${() => revoke(token)} />`)}
            ${!tokens.length && html`<p class="set-row t3 sm">${t('c.none')}</p>`}
          </div>`
    }
    ${mayOrder('create_token') && html`<div class="row"><${Button} icon="key" disabled=${!canAct.value} onClick=${() => show('token', { id: me.value.id })}>${t('se2.a.make')}<//></div>`}`;
}

/** @param {{token: Rec, onRevoke: () => void}} props */
const Row = ({ token, onRevoke }) =>
  html`<div class="set-row">
    <${Icon} name=${token.kind === 'token' ? 'key' : 'user'} />
    <div class="grow">
      <p class="med">${t(`se2.a.kind.${token.kind}`)}</p>
      <p class="xs t3">
        <span class="mono">${token.id}</span> · ${t('ta.created')}
        <${Time} at=${token.created_at} /> ·
        ${token.used_at && html`${t('se2.a.used')} <${Time} at=${token.used_at} /> · `}
        ${t('se2.a.until', { t: stamp(millis(token.expires_at)) })}
      </p>
    </div>
    ${mayOrder('revoke_token') && html`<${Button} kind="danger" size="small" disabled=${!canAct.value} onClick=${onRevoke}>${t('se2.a.revoke')}<//>`}
  </div>`;
