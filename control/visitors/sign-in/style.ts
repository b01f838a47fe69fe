// The style sheet of the sign-in pages: the look that they share with the dashboard and the edge (rules/screen/look.ts), and forms.

import { createHash } from 'node:crypto';
import { fontFace, frameColours, frameStyle, radius, renderColours } from '@underpass/rules/screen/look.ts';

export const style = `${fontFace}${renderColours([...frameColours, 'danger', 'danger-soft'])}${frameStyle}h1 .host { display: block; font-size: 1.25rem; line-height: 1.75rem }
.lead strong { color: var(--ink) }
label { font-size: .8125rem; line-height: 1.25rem; font-weight: 600 }
input { width: 100%; height: 2.5rem; padding: 0 .75rem; border: 1px solid var(--edge); border-radius: ${radius.md}; background: var(--surface); color: var(--ink); font: inherit }
input[aria-invalid] { border-color: var(--danger) }
input.code { height: 3rem; font: 1.25rem/1.75rem "Overpass Mono", ui-monospace, monospace; letter-spacing: .1em; text-transform: uppercase }
.hint { font-size: .8125rem; line-height: 1.25rem; color: var(--ink-soft) }
form .button { margin-top: .625rem }
.or { display: flex; align-items: center; gap: .75rem; margin: 1.5rem 0 0; font-size: .8125rem; line-height: 1.25rem; color: var(--ink-soft) }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line) }
.or + form, .or + .way { margin-top: 1.25rem }
.wrong { margin-top: 1.25rem; padding: .75rem 1rem; border-radius: ${radius.md}; background: var(--danger-soft); color: var(--danger); font-weight: 600 }
.error { margin: 0; font-size: .8125rem; line-height: 1.25rem; font-weight: 600; color: var(--danger) }
.foot { margin-top: 1.25rem; text-align: center; color: var(--ink-soft) }
[hidden] { display: none }
@media (pointer: coarse) and (width < 40rem) { input { font-size: 1rem } }
`;

/** Changes with the text, so that browsers may keep it. */
export const stylePath = `/access/style.css?${createHash('sha256').update(style).digest('hex').slice(0, 12)}`;
