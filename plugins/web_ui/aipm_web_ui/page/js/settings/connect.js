// Snippets for the programs agents run in.
import { html, classes, useState } from '../lib.js';
import { Segments } from '../ui/controls.js';
import { Icon } from '../ui/icons.js';
import { Code, Command } from '../ui/text.js';
import { agents, sessions } from '../records.js';
import { project } from '../store.js';
import { t } from '../texts.js';

const TOKEN = 'AIPM_SESSION_TOKEN';
const LONGEST_CALL = 330;
/** @type {Record<string, [string, string]>} */
const PROGRAMS = {
  claude: ['Claude Code', '.mcp.json'],
  codex: ['Codex', '~/.codex/config.toml'],
  gemini: ['Gemini CLI', '~/.gemini/settings.json'],
  cursor: ['Cursor', '.cursor/mcp.json'],
  vscode: ['VS Code', '.vscode/mcp.json'],
};

/** What a program needs to reach this server over HTTP; the token comes from its environment.
 * @param {string} program @param {string} url */
export function snippet(program, url) {
  const headers = (/** @type {string} */ token) => ({ Authorization: `Bearer ${token}` });
  const json = (/** @type {unknown} */ value) => JSON.stringify(value, null, 2);
  /** @type {Record<string, () => string>} */
  const made = {
    claude: () =>
      json({ mcpServers: { aipm: { type: 'http', url, headers: headers(`\${${TOKEN}:-}`) } } }),
    codex: () =>
      `[mcp_servers.aipm]\nurl = "${url}"\nbearer_token_env_var = "${TOKEN}"\ntool_timeout_sec = ${LONGEST_CALL}`,
    gemini: () =>
      json({
        mcpServers: {
          aipm: { httpUrl: url, headers: headers(`\${${TOKEN}}`), timeout: LONGEST_CALL * 1000 },
        },
      }),
    cursor: () => json({ mcpServers: { aipm: { url, headers: headers(`\${env:${TOKEN}}`) } } }),
    vscode: () =>
      json({
        servers: { aipm: { type: 'http', url, headers: headers('${input:aipm-session-token}') } },
        inputs: [
          {
            type: 'promptString',
            id: 'aipm-session-token',
            description: 'aipm session token',
            password: true,
          },
        ],
      }),
  };
  return made[program]();
}

/** @param {{bare?: boolean}} props */
export function Connect({ bare }) {
  const [program, setProgram] = useState('claude');
  const [chosen, setChosen] = useState('');
  const agent = chosen || agents.value[0]?.id || 'worker-1';
  const text = snippet(program, `${location.origin}/mcp`);
  const prompt = t('se2.c.prompt', { a: agent, p: project.value });
  const connected = sessions.value.some((one) => one.agent_id === agent);
  const [, file] = PROGRAMS[program];
  return html`${!bare && html`<h2>${t('se2.connect')}</h2>`}
    <p class="t2 phrase">${t('se2.c.lead')}</p>
    <${Segments}
      label=${t('se2.c.program')}
      value=${program}
      onChange=${setProgram}
      options=${Object.entries(PROGRAMS).map(([value, [label]]) => ({ value, label }))}
    />
    <div>
      <p class="h"><${Icon} name="file" size="14" /><code>${file}</code></p>
      <${Code} copy=${text} label=${file}>${text}<//>
    </div>
    <div>
      <p class="h">${t('se2.c.then')}</p>
      <${Code} copy=${prompt} label=${t('se2.c.then')}>${prompt}<//>
    </div>
    <div>
      <p class="h">${t('se2.c.stdio')}</p>
      <${Command} text=${`aipm mcp-config --client ${program}`} />
    </div>
    <div class=${classes('waitbox', connected && 'ok')} role="status">
      <${Icon} name=${connected ? 'check' : 'spinner'} /><span class="grow"
        >${t(connected ? 'se2.c.connected' : 'se2.c.waiting', { a: agent })}</span
      >
      ${
        agents.value.length > 1 &&
        html`<label class="row sm nowrap"
          >${t('se2.c.agent')}<select
            value=${agent}
            onChange=${(/** @type {any} */ event) => setChosen(event.currentTarget.value)}
          >
            ${agents.value.map((one) => html`<option key=${one.id} value=${one.id}>${one.id}</option>`)}
          </select></label
        >`
      }
    </div>`;
}
