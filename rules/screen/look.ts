// What the dashboard, control's pages for visitors and the edge's own pages share: colours, font, corners, logo, and the frame of a
// page without scripts. dashboard/styles/tokens.css spells colours, font and corners for the dashboard; its test compares them.

/** Colours by role: that of the light theme, and of the dark one. */
export const colours = {
  bg: ['#f5f4f1', '#111314'],
  surface: ['#ffffff', '#191b1d'],
  hover: ['#f1efea', '#2a2e31'],
  line: ['#dfdcd4', '#2d3134'],
  edge: ['#87837a', '#73797e'],
  ink: ['#1a1b1c', '#f3f2ef'],
  'ink-soft': ['#55534c', '#b6b7b5'],
  accent: ['#ffb020', '#ffb020'],
  'accent-hover': ['#f5a000', '#ffc04d'],
  'on-accent': ['#1a1508', '#1a1508'],
  focus: ['#1f5fbf', '#8ab8ff'],
  danger: ['#b3261e', '#ff9389'],
  'danger-soft': ['#fce8e6', '#3b1613'],
  bar: ['#17191b', '#17191b'],
} as const satisfies Readonly<Record<string, readonly [light: string, dark: string]>>;

type Colour = keyof typeof colours;

export const fontSans = '"Overpass", "Overpass Fallback", system-ui, sans-serif';
/** Where the dashboard's site has the font of these letters. Without it, a page shows in the next font of `fontSans`. */
export const fontPath = '/overpass.woff2';

/** The font of pages at the dashboard's site. dashboard/styles/fonts.css has the same metrics. */
export const fontFace = `@font-face { font-family: "Overpass"; font-weight: 400 700; font-display: swap; ascent-override: 97%; descent-override: 29%; line-gap-override: 0%; src: url("${fontPath}") format("woff2") }
`;

export const radius = { md: '6px', lg: '10px' } as const;

const declare = (names: readonly Colour[], theme: 0 | 1): string =>
  names.map((name) => `--${name}: ${colours[name][theme]}`).join('; ');

/** Custom properties of the roles. By a media query: old browsers, which visitors have, do not know `light-dark()`. */
export const renderColours = (names: readonly Colour[]): string =>
  `:root { color-scheme: light dark; ${declare(names, 0)} }
@media (prefers-color-scheme: dark) { :root { ${declare(
    names.filter((name) => colours[name][0] !== colours[name][1]),
    1,
  )} } }
`;

/** The roles that `frameStyle` uses. */
export const frameColours: readonly Colour[] = [
  ...([
    'bg',
    'surface',
    'hover',
    'line',
    'edge',
    'ink',
    'ink-soft',
    'accent',
    'accent-hover',
    'on-accent',
    'focus',
    'bar',
  ] as const),
];

/** A bar with the logo, a card in the middle, a footer. A button with the class `main` is the page's first way on. */
export const frameStyle = `*, ::before, ::after { box-sizing: border-box; border-color: var(--line) }
html { background: var(--bg); color: var(--ink); font-family: ${fontSans}; -webkit-text-size-adjust: 100% }
body { margin: 0; min-width: 320px; min-height: 100vh; min-height: 100dvh; display: flex; flex-direction: column; font-size: .9375rem; line-height: 1.5rem; -webkit-font-smoothing: antialiased }
header { background: var(--bar); color: ${colours.ink[1]} }
header p { margin: 0 auto; max-width: 72rem; height: 3.5rem; padding: 0 1rem; display: flex; align-items: center; gap: .625rem; font-size: 1.0625rem; font-weight: 700; letter-spacing: -.025em }
main { flex: 1; width: 100%; max-width: 30rem; margin: 0 auto; padding: 2.5rem 1rem }
.card { border: 1px solid var(--line); border-radius: ${radius.lg}; background: var(--surface); padding: 1.25rem }
h1 { margin: 0; font-size: 1.625rem; line-height: 2.125rem; letter-spacing: -.025em; text-wrap: balance; overflow-wrap: anywhere }
p { margin: .25rem 0 0; text-wrap: pretty; overflow-wrap: anywhere }
.lead { color: var(--ink-soft) }
form, .way { margin-top: 1.5rem; display: grid; gap: .375rem }
.button { display: flex; align-items: center; justify-content: center; width: 100%; min-height: 2.5rem; padding: .375rem 1rem; border: 1px solid var(--edge); border-radius: ${radius.md}; background: var(--surface); color: var(--ink); font: inherit; font-weight: 600; text-align: center; text-decoration: none; overflow-wrap: anywhere; cursor: pointer }
.button:hover { background: var(--hover) }
.main { border-color: transparent; background: var(--accent); color: var(--on-accent) }
.main:hover { background: var(--accent-hover) }
a { color: inherit; text-underline-offset: 3px }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px }
footer { border-top: 1px solid var(--line); font-size: .8125rem; line-height: 1.25rem; color: var(--ink-soft) }
footer p { max-width: 72rem; margin: 0 auto; padding: 1.25rem 1rem }
@media (min-width: 40rem) { header p, footer p { padding-inline: 1.5rem } main { padding-block: 4rem } .card { padding: 2rem } }
@media (forced-colors: active) { .main { border-color: ButtonText } }
`;

/** dashboard/public/favicon.svg is the same drawing. */
export const logoSvg = `<svg aria-hidden="true" width="28" height="28" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${colours.accent[0]}"/><path d="M0 6h32v4H0zM7.5 32V21.5a8.5 8.5 0 0 1 17 0V32z" fill="${colours['on-accent'][0]}"/><path d="M16 17v3.5M16 23.5V27M16 30v2" stroke="${colours.accent[0]}" stroke-width="2.4"/></svg>`;
