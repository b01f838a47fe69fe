// The page that offers the ways to sign in that a policy has.

import { productName } from '@underpass/rules/text/text.ts';
import { breakableHost, hiddenFields, html, type Markup, renderPage } from './page.ts';
import { memberPath, targetFields, targetQuery } from './target.ts';
import type { Visit } from './visit-deps.ts';

/** The text of a field that was refused, and what had been typed. */
export interface Refused {
  readonly field: 'email' | 'password';
  readonly message: string;
  readonly typed?: string;
}

interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /** Made with `html`, which escapes the values in it. */
  readonly attributes: Markup;
}

export function renderField({ name, label, hint, attributes }: Field, message?: string): Markup {
  const ids = [message === undefined ? [] : `${name}-error`, hint === undefined ? [] : `${name}-hint`].flat().join(' ');
  return html`<label for="${name}">${label}</label>
<input id="${name}" name="${name}" required ${attributes}${ids === '' ? null : html` aria-describedby="${ids}"`}${message === undefined ? null : html` aria-invalid="true" autofocus`}>
${message === undefined ? null : html`<p class="error" id="${name}-error">${message}</p>\n`}${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>\n`}`;
}

/** The first way gets the accent colour. */
type Way = (isFirst: boolean) => Markup;

const mainClass = (isFirst: boolean): string => (isFirst ? 'button main' : 'button');

const linkWay =
  (label: string, url: string): Way =>
  (isFirst) =>
    html`<div class="way"><a class="${mainClass(isFirst)}" href="${url}">${label}</a></div>`;

const formWay =
  (action: string, { target }: Visit, field: Markup, label: string): Way =>
  (isFirst) =>
    html`<form method="post" action="${action}">
${hiddenFields(targetFields(target))}
${field}<button class="${mainClass(isFirst)}">${label}</button>
</form>`;

function emailWay(visit: Visit, refused: Refused | undefined): Way {
  const typed = refused?.field === 'email' ? refused : undefined;
  const attributes = html`type="email" autocomplete="email" inputmode="email" maxlength="254" value="${typed?.typed ?? ''}"`;
  const hint = 'We email you a code.';
  const field = renderField({ name: 'email', label: 'Email', hint, attributes }, typed?.message);
  return formWay('/access/code', visit, field, 'Send the code');
}

function passwordWay(visit: Visit, refused: Refused | undefined): Way {
  const message = refused?.field === 'password' ? refused.message : undefined;
  const attributes = html`type="password" autocomplete="current-password" maxlength="200"`;
  const hint = 'The people who run the service gave it to you.';
  const field = renderField({ name: 'password', label: 'Password', hint, attributes }, message);
  return formWay('/access/password', visit, field, 'Sign in');
}

/** A project of so few people makes its services for others. */
const fewMembers = 3;

/** Most visitors are guests where the policy names guests, and where there are few members. Their way is the page's first. */
const guestsFirst = ({ memberIds, people }: Visit['policy']['grants']): boolean =>
  people.length > 0 || (memberIds ?? []).length <= fewMembers;

function waysOf(visit: Visit, refused: Refused | undefined): Way[] {
  const { target, policy } = visit;
  const { grants } = policy;
  const members = grants.memberIds === null ? [] : [linkWay(`Continue with your ${productName} account`, memberPath(target))];
  const guests = guestWaysOf(visit, refused);
  return guestsFirst(grants) ? [...guests, ...members] : [...members, ...guests];
}

function guestWaysOf(visit: Visit, refused: Refused | undefined): Way[] {
  const { target, policy } = visit;
  const { grants } = policy;
  const { provider } = policy.content;
  return [
    ...(provider === null ? [] : [linkWay(`Sign in with ${provider.label}`, `/access/oidc/start?${targetQuery(target)}`)]),
    ...(grants.people.length === 0 ? [] : [emailWay(visit, refused)]),
    ...(grants.passwordId === null ? [] : [passwordWay(visit, refused)]),
  ];
}

const renderWays = (ways: readonly Way[]): Markup[] =>
  ways.flatMap((way, at) => (at === 0 ? [way(true)] : [html`\n<p class="or">or</p>\n`, way(false)]));

/** The script fills and posts it, if this tab came from a share link. */
const linkForm = ({ target, policy }: Visit): Markup =>
  html`\n<form method="post" action="/access/link" data-link="${policy.host}" hidden>
${hiddenFields({ ...targetFields(target), secret: '' })}
</form>`;

/** Names the project, and the program for which the visitor signs in. */
export function ofProject({ policy, programName }: Pick<Visit, 'policy' | 'programName'>): Markup {
  const program =
    programName === undefined ? null : html` The program <strong>${programName}</strong> asks to use it on your behalf.`;
  return html`This service belongs to the project <strong>${policy.projectName}</strong>.${program}`;
}

const noWayText = 'This page offers no way to sign in. Ask the people who run the service for a link.';

export function renderSignIn(visit: Visit, refused?: Refused, status = 200): Response {
  const ways = waysOf(visit, refused);
  const hasLinks = visit.policy.grants.links.length > 0;
  const title = `Sign in to ${visit.policy.host}`;
  return renderPage({
    title,
    status,
    withScript: hasLinks,
    body: html`<h1>Sign in to ${breakableHost(visit.policy.host)}</h1>
<p class="lead">${ofProject(visit)}</p>
${ways.length === 0 ? html`<p>${noWayText}</p>` : renderWays(ways)}${hasLinks ? linkForm(visit) : null}`,
  });
}
