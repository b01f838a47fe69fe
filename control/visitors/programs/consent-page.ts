// The page that asks a signed-in visitor whether a program may act for them.

import type { VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { breakableHost, hiddenFields, html, renderPage } from '../sign-in/page.ts';
import { describeRedirect } from './core/redirect-uri.ts';
import type { AuthorizationRequest } from './flows.ts';
import { oauthPath } from './metadata.ts';

interface Consent extends Pick<AuthorizationRequest, 'program' | 'host' | 'resource' | 'redirectUri'> {
  readonly claims: VisitorClaims;
  readonly projectName: string;
  readonly secret: string;
}

const whoIs = ({ program }: Consent) =>
  program.isDocument
    ? html`The program comes from <strong>${new URL(program.id).host}</strong>.`
    : html`The program chose this name itself, and we have not checked it.`;

const asWhom = ({ email }: VisitorClaims) => (email === '' ? null : html`, as <strong>${email}</strong>`);

export function renderConsent(consent: Consent): Response {
  const { program, resource, redirectUri, claims, projectName, host, secret } = consent;
  return renderPage({
    title: `Allow ${program.name} to use ${host}?`,
    body: html`<h1>Allow ${program.name} to use ${breakableHost(host)}</h1>
<p class="lead">${program.name} wants to use <strong>${resource}</strong> of the project ${projectName}${asWhom(claims)}. It can do everything there that you can do, until your sign-in ends.</p>
<p class="lead">${whoIs(consent)} Your answer goes to <strong>${describeRedirect(redirectUri)}</strong>. Allow it only if you have just started this yourself.</p>
<form method="post" action="${oauthPath}/consent">${hiddenFields({ grant: secret })}
<button class="button main" name="decision" value="allow">Allow</button>
<button class="button" name="decision" value="deny">Deny</button>
</form>`,
  });
}
