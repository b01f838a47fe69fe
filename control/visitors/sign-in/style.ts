// The look of the sign-in pages: the colours and shapes of the dashboard (dashboard/styles/tokens.css) in one small style sheet.

import { createHash } from 'node:crypto';

export const style = `:root {
  color-scheme: light dark;
  --bg: light-dark(#f5f4f1, #111314);
  --surface: light-dark(#fff, #191b1d);
  --hover: light-dark(#f1efea, #2a2e31);
  --line: light-dark(#dfdcd4, #2d3134);
  --edge: light-dark(#87837a, #73797e);
  --ink: light-dark(#1a1b1c, #f3f2ef);
  --soft: light-dark(#55534c, #b6b7b5);
  --accent: #ffb020;
  --accent-hover: light-dark(#f5a000, #ffc04d);
  --on-accent: #1a1508;
  --focus: light-dark(#1f5fbf, #8ab8ff);
  --danger: light-dark(#b3261e, #ff9389);
  --danger-soft: light-dark(#fce8e6, #3b1613);
}
*, ::before, ::after { box-sizing: border-box; border-color: var(--line) }
html { background: var(--bg); color: var(--ink); font-family: Overpass, system-ui, sans-serif; -webkit-text-size-adjust: 100% }
body { margin: 0; min-width: 320px; min-height: 100vh; min-height: 100dvh; display: flex; flex-direction: column; font-size: .9375rem; line-height: 1.5rem; -webkit-font-smoothing: antialiased }
header { background: #17191b; color: #f3f2ef }
header p { margin: 0 auto; max-width: 72rem; height: 3.5rem; padding: 0 1rem; display: flex; align-items: center; gap: .625rem; font-size: 1.0625rem; font-weight: 700; letter-spacing: -.025em }
main { flex: 1; width: 100%; max-width: 30rem; margin: 0 auto; padding: 2.5rem 1rem }
.card { border: 1px solid var(--line); border-radius: 10px; background: var(--surface); padding: 1.25rem }
h1 { margin: 0; font-size: 1.625rem; line-height: 2.125rem; letter-spacing: -.025em; text-wrap: balance; overflow-wrap: anywhere }
h1 .host { display: block; font-size: 1.25rem; line-height: 1.75rem }
p { margin: .25rem 0 0; text-wrap: pretty; overflow-wrap: anywhere }
.lead { color: var(--soft) }
.lead strong { color: var(--ink) }
form, .way { margin-top: 1.5rem; display: grid; gap: .375rem }
label { font-size: .8125rem; line-height: 1.25rem; font-weight: 600 }
input { width: 100%; height: 2.5rem; padding: 0 .75rem; border: 1px solid var(--edge); border-radius: 6px; background: var(--surface); color: var(--ink); font: inherit }
input[aria-invalid] { border-color: var(--danger) }
input.code { height: 3rem; font: 1.25rem/1.75rem "Overpass Mono", ui-monospace, monospace; letter-spacing: .1em; text-transform: uppercase }
.hint, footer { font-size: .8125rem; line-height: 1.25rem; color: var(--soft) }
.button { display: flex; align-items: center; justify-content: center; width: 100%; min-height: 2.5rem; margin-top: .625rem; padding: .375rem 1rem; border: 1px solid color-mix(in srgb, var(--edge) 60%, transparent); border-radius: 6px; background: var(--surface); color: var(--ink); font: inherit; font-weight: 600; text-align: center; text-decoration: none; overflow-wrap: anywhere; cursor: pointer }
.button:hover { background: var(--hover) }
.main { border-color: transparent; background: var(--accent); color: var(--on-accent) }
.main:hover { background: var(--accent-hover) }
.way .button { margin-top: 0 }
.or { display: flex; align-items: center; gap: .75rem; margin: 1.5rem 0 0; font-size: .8125rem; line-height: 1.25rem; color: var(--soft) }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line) }
.or + form, .or + .way { margin-top: 1.25rem }
.wrong { margin-top: 1.25rem; padding: .75rem 1rem; border-radius: 6px; background: var(--danger-soft); color: var(--danger); font-weight: 600 }
.error { margin: 0; font-size: .8125rem; line-height: 1.25rem; font-weight: 600; color: var(--danger) }
.foot { margin-top: 1.25rem; text-align: center; color: var(--soft) }
a { color: inherit; text-underline-offset: 3px }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px }
footer { border-top: 1px solid var(--line) }
footer p { max-width: 72rem; margin: 0 auto; padding: 1.25rem 1rem }
[hidden] { display: none }
@media (min-width: 40rem) {
  header p, footer p { padding-inline: 1.5rem }
  main { padding-block: 4rem }
  .card { padding: 2rem }
}
@media (pointer: coarse) and (width < 40rem) { input { font-size: 1rem } }
@media (forced-colors: active) { .main { border-color: ButtonText } }
`;

/** Changes with the text, so that browsers may keep it. */
export const stylePath = `/access/style.css?${createHash('sha256').update(style).digest('hex').slice(0, 12)}`;
