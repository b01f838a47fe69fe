// The text that a start prints. Pure: all its values are passed in.
import { quoteShellWord } from '@underpass/rules/connect/shell-word.ts';

export interface Welcome {
  readonly origin: string;
  /** One-time sign-in link of the first operator. */
  readonly signInUrl: string;
  readonly loginLinkMinutes: number;
  /** Path of the certificate of the local authority. */
  readonly caPath: string;
  readonly mailboxUrl: string | undefined;
  readonly tunnel: {
    readonly url: string;
    readonly tokenPath: string;
    /** Address for visitors. */
    readonly publicUrl: string;
  };
}

const loginLinkCommand = 'npx underpass-server login-link';

/** Where operators read mails that stay on this machine. */
const renderMails = (mailboxUrl: string | undefined): string =>
  mailboxUrl === undefined ? '' : `  Mails      ${mailboxUrl}\n             (kept here, for operators: SMTP_URL is not set)\n`;

/** Printed at the first start: addresses, and commands to paste. */
export function renderWelcome({ origin, signInUrl, loginLinkMinutes, caPath, mailboxUrl, tunnel }: Welcome): string {
  const carry = `npx underpass http --url ${quoteShellWord(tunnel.url)} --token-file ${quoteShellWord(tunnel.tokenPath)} --upstream http://127.0.0.1:3000`;
  return `
Underpass is running.

  Dashboard  ${origin}
  Sign in    ${signInUrl}
             (once, within ${loginLinkMinutes} minutes; another one: ${loginLinkCommand})
${renderMails(mailboxUrl)}
Put a local port behind a public name. In other terminals, in this folder:

  1. A web server, for example:
     python3 -m http.server 3000

  2. Its tunnel:
     ${carry}

  3. A visit:
     curl --cacert ${quoteShellWord(caPath)} ${tunnel.publicUrl}/

Browsers ask before they open ${tunnel.publicUrl}/ until they trust the authority of this
machine: import ${caPath} (also at ${origin}/ca.pem) under certificate authorities.
Other machines and phones: see docs/quick-start.md.

Stop with Ctrl+C.
`;
}

interface Summary {
  readonly role: string;
  readonly version: string;
  readonly origin: string | undefined;
  readonly region: string | undefined;
  readonly ports: readonly number[];
  readonly database: string | undefined;
}

/** One line for every start except the first on a laptop. */
export function renderSummary({ role, version, origin, region, ports, database }: Summary): string {
  const parts = [
    `underpass ${version} (${role})`,
    ...(origin === undefined ? [] : [`dashboard ${origin}`]),
    ...(region === undefined ? [] : [`region ${region}`]),
    `ports ${ports.join(', ')}`,
    ...(database === undefined ? [] : [`database ${database}`]),
  ];
  return `${parts.join(', ')}\n`;
}

/** Printed after the summary at later starts on a laptop. */
export function renderHints(mailboxUrl: string | undefined): string {
  return `
  Sign in    ${loginLinkCommand}
             (prints a link; in another terminal, in this folder, with the same settings)
${renderMails(mailboxUrl)}  Stop       Ctrl+C
`;
}
