// Signing in: a one-time code, or a person's own passkey.
import { html, useEffect, useRef, useState } from '../lib.js';
import { Button, Segments } from '../ui/controls.js';
import { Icon, Logo } from '../ui/icons.js';
import { Command, Note } from '../ui/text.js';
import { Refusal, call } from '../api.js';
import { rememberSignIn } from '../store.js';
import { language } from '../preferences.js';
import { locale, t } from '../texts.js';

const LENGTH = 8;
/** Full-width, lower case, spaces and hyphens are all the same code. @param {string} text */
export const cleanCode = (text) =>
  text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
    .slice(0, LENGTH);

/** @param {unknown} error @param {boolean} code */
function wordsFor(error, code) {
  if (!(error instanceof Refusal) || error.status === 0) return 'er.unreachable';
  if (error.status === 429) return 'lo.many';
  return code ? 'lo.expired' : 'lo.wrongkey';
}

/** @param {{code?: string}} props a code that came with the address */
export function Login({ code: given }) {
  const [code, setCode] = useState('');
  const [agent, setAgent] = useState('');
  const [passkey, setPasskey] = useState('');
  const [byCode, setByCode] = useState(true);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const first = useRef(/** @type {HTMLInputElement|null} */ (null));
  const signIn = async (/** @type {Record<string, string>} */ body) => {
    setBusy(true);
    setError('');
    try {
      const { token, person } = await call('/api/login', { body });
      rememberSignIn({ token, person });
    } catch (refused) {
      setError(wordsFor(refused, 'code' in body));
      setBusy(false);
    }
  };
  useEffect(() => {
    document.title = `${t('lo.title')} · aipm`;
    if (given) signIn({ code: cleanCode(given) });
  }, []);
  useEffect(() => first.current?.focus(), [byCode]);
  const ready = byCode ? code.length === LENGTH : agent && passkey;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (ready && !busy) signIn(byCode ? { code } : { agent_id: agent.trim(), passkey });
  };
  const told = error ? { 'aria-invalid': 'true', 'aria-describedby': 'lo-err' } : {};
  return html`<main class="login">
    <div class="lo-box">
      <${Logo} size=${40} />
      <h1>${t('lo.title')}</h1>
      <p class="t2 phrase">${t(byCode ? 'lo.lead' : 'lo.lead.key')}</p>
      ${byCode && html`<${Command} text="aipm open" />`}
      <form onSubmit=${submit}>
        ${
          byCode
            ? html`<label class="lb"
                >${t('lo.code')}<input
                  ref=${first}
                  class="lo-code mono"
                  type="text"
                  autocomplete="one-time-code"
                  autocapitalize="characters"
                  spellcheck=${false}
                  value=${spaced(code)}
                  placeholder="XXXX-XXXX"
                  onInput=${(/** @type {any} */ event) => !event.isComposing && setCode(cleanCode(event.currentTarget.value))}
                  onCompositionEnd=${(/** @type {any} */ event) => setCode(cleanCode(event.currentTarget.value))}
                  ...${told}
              /></label>`
            : html`<label class="lb"
                  >${t('lo.who')}<input
                    ref=${first}
                    type="text"
                    autocomplete="username"
                    spellcheck=${false}
                    value=${agent}
                    onInput=${(/** @type {any} */ event) => setAgent(event.currentTarget.value)}
                    ...${told}
                /></label>
                <label class="lb"
                  >${t('se2.m.passkey')}<input
                    type="password"
                    autocomplete="current-password"
                    value=${passkey}
                    onInput=${(/** @type {any} */ event) => setPasskey(event.currentTarget.value)}
                    ...${told}
                /></label>`
        }
        ${error && html`<p id="lo-err" class="lo-err" role="alert"><${Icon} name="alert" /><span>${t(error)}</span></p>`}
        <button type="submit" class="btn primary wide big" disabled=${!ready || busy}>
          ${busy && html`<${Icon} name="spinner" />`}<span
            >${t(busy ? 'lo.checking' : 'lo.go')}</span
          >
        </button>
      </form>
      <${Button} kind="ghost" onClick=${() => setByCode(!byCode)}
        >${t(byCode ? 'lo.bykey' : 'lo.bycode')}<//
      >
      <${Note} icon="lock">${t('lo.local')}<//>
    </div>
    <div class="lo-foot">
      <${Segments}
        label=${t('ap.lang')}
        value=${locale()}
        onChange=${(/** @type {string} */ value) => (language.value = value)}
        options=${[
          { value: 'ja', label: '日本語' },
          { value: 'en', label: 'English' },
        ]}
      />
    </div>
  </main>`;
}

/** @param {string} code */
const spaced = (code) => (code.length > 4 ? `${code.slice(0, 4)}-${code.slice(4)}` : code);
