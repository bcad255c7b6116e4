// Own icons: 16 px grid, 1.5 px strokes, round ends. Decorative unless a label is given.
import { html } from '../lib.js';

/** @type {Record<string, string>} */
const PATHS = {
  // navigation
  inbox:
    'M2 9.500 3.700 3.700A1 1 0 0 1 4.700 3h6.600a1 1 0 0 1 1 .7L14 9.500V12a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1zM2 9.500h3.300c.3 1.300 1.400 2 2.700 2s2.400-.7 2.700-2H14',
  board: 'M2.500 3h3v10h-3zM6.500 3h3v6.500h-3zM10.500 3h3v8h-3z',
  agents:
    'M5 4.500h6a2 2 0 0 1 2 2v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4a2 2 0 0 1 2-2zM8 2v2.500M6 7.750v1M10 7.750v1M1.250 7.500v2M14.750 7.500v2',
  chat: 'M3 3h10a1 1 0 0 1 1 1v6.500a1 1 0 0 1-1 1H7.500L4.500 14v-2.500H3a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1z',
  talks:
    'M2.500 2.500h7a1 1 0 0 1 1 1V7a1 1 0 0 1-1 1H5.500L3.500 9.800V8h-1a1 1 0 0 1-1-1V3.500a1 1 0 0 1 1-1zM12.500 6h1a1 1 0 0 1 1 1v3.500a1 1 0 0 1-1 1h-1v1.800l-2-1.800H7.500a1 1 0 0 1-.9-.5',
  activity: 'M2.500 4h1M2.500 8h1M2.500 12h1M6 4h7.500M6 8h7.500M6 12h5',
  plugins: 'M6 2v3M10 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v2',
  settings:
    'M2.500 5h6M12 5h1.500M2.500 11H4M7.500 11h6M10.250 3.250a1.750 1.750 0 1 0 0 3.500 1.750 1.750 0 0 0 0-3.500zM5.750 9.250a1.750 1.750 0 1 0 0 3.500 1.750 1.750 0 0 0 0-3.500z',
  // plain actions
  search: 'M7 2.500a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.300 10.300 13.500 13.500',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3.500 8h9',
  check: 'm3 8.500 3.200 3.200L13 4.800',
  checks: 'm1.500 8.500 3 3 5.500-6.500M8.300 10.800l.8.7 5.400-6.500',
  x: 'M4 4l8 8M12 4l-8 8',
  down: 'm4 6 4 4 4-4',
  right: 'm6 4 4 4-4 4',
  left: 'm10 4-4 4 4 4',
  up: 'm4 10 4-4 4 4',
  arrowRight: 'M3 8h10M9 4l4 4-4 4',
  arrowLeft: 'M13 8H3M7 4 3 8l4 4',
  arrowDown: 'M8 3v10M4 9l4 4 4-4',
  play: 'M5 3.500v9l7.500-4.500z',
  pause: 'M5.500 3.500v9M10.500 3.500v9',
  stop: 'M4 4h8v8H4z',
  hand: 'M5.200 8.800V4.300a1 1 0 0 1 2 0V7.500M7.200 7.300V3a1 1 0 0 1 2 0v4.300M9.200 7.400V4a1 1 0 0 1 2 0v5.500c0 2.600-1.500 4.500-4 4.500-1.800 0-2.800-.8-3.600-2.200L2.300 9.300c-.5-.9.700-1.700 1.400-.9l1.500 1.700',
  power: 'M8 2.500v5M4.800 4.600a4.700 4.700 0 1 0 6.400 0',
  send: 'M13.500 2.500 2.500 6.800l4.700 2 2 4.700zM7.200 8.800l2.600-2.600',
  copy: 'M5.500 5.500h7v8h-7zM3.500 10.500V2.500h7',
  filter: 'M2.500 4h11M4.500 8h7M6.500 12h3',
  refresh: 'M13 8a5 5 0 1 1-1.600-3.700M13 2.500v3h-3',
  undo: 'M3 6.500h6.500a3.500 3.500 0 0 1 0 7H6M6 3.500l-3 3 3 3',
  download: 'M8 2.500v7.500M4.800 7 8 10.200 11.200 7M3 13.500h10',
  external: 'M6 3.500H3v9.500h9.500v-3M9 3h4v4M13 3 7.500 8.500',
  edit: 'M10.500 3 13 5.500 5.500 13H3v-2.500z',
  reply: 'M6.500 4 2.500 8l4 4M3 8h6.500a4 4 0 0 1 4 4v.500',
  // things
  terminal: 'M2 3h12v10H2zM4.500 6l2 2-2 2M8.500 10.500h3',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  diff: 'M8 3v5M5.500 5.500h5M5.500 11.500h5M3 1.500h10v13H3z',
  branch:
    'M5 4.500v7M5 4.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM5 14.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM11 7.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3zM11 7.500c0 2.500-6 1.500-6 4',
  parent: 'M3 3v6.500a2 2 0 0 0 2 2h8M10 8.500l3 3-3 3',
  sub: 'M3.500 2.500v7a2 2 0 0 0 2 2H8M3.500 6H8M10 4.500h3.500v3H10zM10 10h3.500v3H10z',
  link: 'M6.800 9.200 9.200 6.800M7.300 4.800l1-1a2.800 2.800 0 0 1 4 4l-1.100 1M8.700 11.200l-1 1a2.800 2.800 0 0 1-4-4l1.100-1',
  clock: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.800V8l2.200 1.500',
  hourglass: 'M4 2h8M4 14h8M5 2v2.500L8 8l3-3.500V2M5 14v-2.500L8 8l3 3.500V14',
  alert: 'M8 2.500 14.200 13.500H1.800zM8 6.500v3.200M8 11.600v.1',
  octagon:
    'M5.400 1.800h5.200l3.600 3.600v5.200l-3.600 3.600H5.400l-3.600-3.600V5.400zM8 5v3.700M8 10.900v.1',
  question:
    'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM6.300 6.300a1.750 1.750 0 1 1 2.500 1.600c-.5.3-.8.6-.8 1.200M8 11.200v.1',
  info: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 7.500v3.500M8 5v.1',
  shield: 'M8 1.800 13 3.500v4c0 3.200-2.100 5.500-5 6.700-2.900-1.200-5-3.500-5-6.700v-4z',
  lock: 'M3.500 7.500h9v6h-9zM5.500 7.500V5a2.500 2.500 0 0 1 5 0v2.500',
  key: 'M5.500 7a3.250 3.250 0 1 0 0 6.500 3.250 3.250 0 0 0 0-6.500zM7.800 7.800 13.500 2.500M11.500 4.400l1.500 1.500M9.700 6.100l1.200 1.200',
  bell: 'M4 11.500V7a4 4 0 0 1 8 0v4.500l1 .5H3zM6.800 14h2.400',
  eye: 'M1.500 8S4 3.800 8 3.800 14.500 8 14.500 8 12 12.200 8 12.200 1.500 8 1.500 8zM8 6.250a1.750 1.750 0 1 0 0 3.500 1.750 1.750 0 0 0 0-3.500z',
  user: 'M8 2.500a2.750 2.750 0 1 0 0 5.500 2.750 2.750 0 0 0 0-5.500zM2.800 13.500c.5-2.500 2.600-3.800 5.200-3.800s4.700 1.300 5.200 3.800',
  users:
    'M6 3a2.250 2.250 0 1 0 0 4.500A2.250 2.250 0 0 0 6 3zM1.800 13c.3-2.300 2-3.500 4.200-3.500s3.900 1.200 4.200 3.500M10.500 3.200a2.250 2.250 0 0 1 0 4.100M12 9.800c1.300.5 2 1.600 2.200 3.200',
  handover: 'M2.500 5.500h8M8 3l2.500 2.500L8 8M13.500 10.500h-8M8 8l-2.500 2.500L8 13',
  at: 'M10.500 8a2.500 2.500 0 1 1-5 0 2.500 2.500 0 0 1 5 0zM10.500 5.500V9a1.700 1.700 0 0 0 3.400 0V8A5.900 5.900 0 1 0 11.500 12.800',
  coin: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM9.800 6c-.3-.8-1-1.100-1.800-1.100-1 0-1.800.5-1.800 1.400 0 2.200 3.700 1.100 3.700 3.300 0 1-.9 1.500-1.900 1.500-.9 0-1.700-.4-2-1.300M8 3.800v1.100M8 11.100v1.100',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.500v1M8 13.500v1M1.500 8h1M13.500 8h1M3.400 3.400l.7.7M11.900 11.900l.7.7M12.600 3.400l-.7.7M4.100 11.900l-.7.7',
  moon: 'M13.500 9.500A5.800 5.800 0 0 1 6.500 2.500a5.800 5.800 0 1 0 7 7z',
  globe:
    'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM2 8h12M8 2c2 2 2.500 4 2.500 6S10 12 8 14C6 12 5.500 10 5.500 8S6 4 8 2z',
  keyboard: 'M1.500 4h13v8h-13zM4 6.500h.1M6.700 6.500h.1M9.300 6.500h.1M12 6.500h.1M5 9.500h6',
  cmd: 'M6 6h4v4H6zM6 6V4.300A1.750 1.750 0 1 0 4.300 6zM10 6V4.300A1.750 1.750 0 1 1 11.700 6zM6 10v1.700A1.750 1.750 0 1 1 4.300 10zM10 10v1.700a1.750 1.750 0 1 0 1.700-1.700z',
  offline:
    'M2 2l12 12M4 7.800a5.800 5.800 0 0 1 2-1.300M8.500 6c1.400 0 2.600.6 3.500 1.600M1.800 5.300c.7-.7 1.500-1.300 2.400-1.700M7 3c2.700-.2 5.300.6 7.200 2.500M6 10.200c1.200-1 2.700-1 3.900-.1M8 12.800v.1',
  menu: 'M2.500 4.500h11M2.500 8h11M2.500 11.500h11',
  panel: 'M2 3h12v10H2zM10 3v10',
  list: 'M5.500 4h8M5.500 8h8M5.500 12h8M2.500 4h.1M2.500 8h.1M2.500 12h.1',
  logout: 'M6.500 3H3v10h3.500M10 5l3 3-3 3M13 8H6.500',
  book: 'M8 4C6.500 2.800 4.500 2.500 2.500 2.500V12c2 0 4 .3 5.500 1.500C9.500 12.300 11.500 12 13.500 12V2.500C11.500 2.500 9.500 2.800 8 4zM8 4v9.500',
  think: 'M4 10.500h.1M8 10.500h.1M12 10.500h.1',
  wrench:
    'M13.300 4.300 11 6.500 9.500 5l2.200-2.300A3.500 3.500 0 0 0 7.300 7.200L2.700 11.800a1.200 1.200 0 0 0 1.600 1.600l4.600-4.600a3.500 3.500 0 0 0 4.400-4.500z',
  spark:
    'M8 2v3M8 11v3M2 8h3M11 8h3M4 4l1.800 1.800M10.200 10.200 12 12M12 4l-1.800 1.800M5.800 10.200 4 12',
  flag: 'M3.500 14V2.500M3.500 3h8.500l-2 3 2 3H3.500',
};

/** Shapes of more than one line. Status: the shape says it first, the colour second. */
/** @type {Record<string, () => unknown>} */
const DRAWN = {
  spinner: () => html`<path d="M8 2.25A5.75 5.75 0 1 1 2.25 8" />`,
  more: () =>
    html`<g fill="currentColor" stroke="none">
      <circle cx="3.5" cy="8" r="1.25" /><circle cx="8" cy="8" r="1.25" /><circle
        cx="12.5"
        cy="8"
        r="1.25"
      />
    </g>`,
  backlog: () => html`<circle cx="8" cy="8" r="5.5" stroke-dasharray="1.8 2.52" />`,
  todo: () => html`<circle cx="8" cy="8" r="5.5" />`,
  in_progress: () =>
    html`<circle cx="8" cy="8" r="5.5" /><path
        d="M8 5a3 3 0 0 1 0 6z"
        fill="currentColor"
        stroke-width="1"
      />`,
  blocked: () =>
    html`<circle cx="8" cy="8" r="5.5" fill="currentColor" /><path class="cut-out" d="M5.5 8h5" />`,
  done: () =>
    html`<circle cx="8" cy="8" r="5.5" fill="currentColor" /><path
        class="cut-out"
        d="m5.7 8.2 1.6 1.6 3-3.3"
      />`,
  cancelled: () =>
    html`<circle cx="8" cy="8" r="5.5" /><path d="m6 6 4 4M10 6l-4 4" stroke-width="1.3" />`,
  low: () => bars(1),
  medium: () => bars(2),
  high: () => bars(3),
  urgent: () =>
    html`<rect x="2" y="2" width="12" height="12" rx="3" fill="currentColor" stroke="none" />
      <path class="cut-out" d="M8 5v3.6M8 10.9v.1" />`,
};

/** @param {number} filled */
const bars = (filled) =>
  html`<g fill="currentColor" stroke="none">
    ${[0, 1, 2].map(
      (i) =>
        html`<rect
          x=${2.5 + i * 4}
          y=${9.5 - i * 3}
          width="3"
          height=${4 + i * 3}
          rx="1"
          opacity=${i < filled ? 1 : 0.28}
        />`,
    )}
  </g>`;

/** @param {{name: string, size?: number|string, label?: string|null, cls?: string}} props */
export function Icon({ name, size = 16, label = null, cls = '' }) {
  const told = label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' };
  const drawn = DRAWN[name];
  return html`<svg
    width=${size}
    height=${size}
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    stroke-width="1.5"
    stroke-linecap="round"
    stroke-linejoin="round"
    class=${`i ${name === 'spinner' ? 'spin' : ''} ${cls}`}
    ...${told}
  >
    ${drawn ? drawn() : html`<path d=${PATHS[name] ?? PATHS.info} />`}
  </svg>`;
}

/** @param {{size?: number}} props */
export const Logo = ({ size = 28 }) =>
  html`<svg
    width=${size}
    height=${size}
    viewBox="0 0 32 32"
    fill="none"
    class="i logo"
    aria-hidden="true"
  >
    <rect width="32" height="32" rx="8" />
    <path d="M8 9.5h3c5 0 4 6.5 9 6.5M8 16h12M8 22.5h3c5 0 4-6.5 9-6.5" />
    <circle cx="22.5" cy="16" r="3.2" />
  </svg>`;
