// certificates show|set|update|rm: a certificate of the project's own for an ingress domain of an http tunnel.

import { certificateCalls } from '@underpass/rules/api/certificate-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { OwnCertificate } from '@underpass/rules/entity/resource.ts';
import { parseIngressDomain } from '@underpass/rules/names/ingress-domain.ts';
import { unwrapHost } from '@underpass/rules/text/typed-list.ts';
import { certificateLimits } from '@underpass/rules/tunnel/own-certificate.ts';
import type { Command } from 'commander';
import { openProject } from '../account/account.ts';
import { ClientError } from '../process/error.ts';
import { renderFields } from '../terminal/output.ts';
import { confirm } from '../terminal/prompt.ts';
import {
  type CommonFlags,
  type ConfirmedFlags,
  canonicalOf,
  confirmedCommand,
  outputOf,
  projectCommand,
  readGiven,
  type Shell,
} from './command-line.ts';

interface SetFlags extends CommonFlags {
  readonly chain: string;
  readonly key: string;
  readonly fallback: boolean;
}

interface UpdateFlags extends CommonFlags {
  readonly fallback?: boolean;
}

export function addCertificateCommands(program: Command, shell: Shell): void {
  const certificates = program
    .command('certificates')
    .description('Certificates of your own for domains of http tunnels. Without one, the service gets it.');
  projectCommand(certificates, 'show <domain>', 'Show the certificate that the project gave.', [
    'underpass certificates show app.example.com',
  ]).action((domain: string, flags: CommonFlags) => show(shell, domain, flags));
  projectCommand(certificates, 'set <domain>', 'Give or replace the certificate. Open connections go on.', [
    'underpass certificates set app.example.com --chain fullchain.pem --key key.pem',
  ])
    .requiredOption('--chain <file>', 'PEM file of the certificate and its chain, in any order')
    .requiredOption('--key <file>', 'PEM file of the private key, without a passphrase')
    .option('--no-fallback', 'get no certificate from the authority when it ends')
    .action((domain: string, flags: SetFlags) => set(shell, domain, flags));
  projectCommand(certificates, 'update <domain>', 'Choose what follows when the certificate ends.', [
    'underpass certificates update app.example.com --no-fallback',
  ])
    .option('--fallback', 'a certificate from the authority of the service')
    .option('--no-fallback', 'none: visitors are not served')
    .action((domain: string, flags: UpdateFlags) => update(shell, domain, flags));
  confirmedCommand(certificates, 'rm <domain>', 'Remove it: the service gets a certificate again.', [
    'underpass certificates rm app.example.com --yes',
  ]).action((domain: string, flags: ConfirmedFlags) => remove(shell, domain, flags));
}

/** Finds the tunnel that has the domain. */
async function openDomain({ io }: Shell, domain: string, flags: CommonFlags) {
  const host = canonicalOf(parseIngressDomain, unwrapHost(domain));
  const { api, project } = await openProject(io, flags);
  const tunnels = await api.call(tunnelCalls.listTunnels, { project: project.id });
  const tunnel = tunnels.find(({ ingressDomains }) => ingressDomains.some(({ name }) => name === host));
  if (tunnel === undefined) {
    const fix = 'Run "underpass tunnels list" to see the domains of the project.';
    throw new ClientError('not-found', `no tunnel of your project has the domain ${host}`, { fix });
  }
  return { api, input: { project: project.id, name: tunnel.name, host } };
}

async function show(shell: Shell, domain: string, flags: CommonFlags): Promise<void> {
  const { api, input } = await openDomain(shell, domain, flags);
  const state = await api.call(certificateCalls.getOwnCertificate, input);
  const { certificate, record } = state;
  const none = `The project gave no certificate for ${input.host}: the service gets one.`;
  const needs = record && `${none}\nFor that, set this record once: ${record.name} CNAME ${record.value}`;
  outputOf(shell, flags).result(state, certificate === undefined ? (needs ?? none) : certificateText(certificate));
}

async function set(shell: Shell, domain: string, flags: SetFlags): Promise<void> {
  const chain = await readGiven(shell, flags.chain, certificateLimits.chainChars);
  const privateKey = await readGiven(shell, flags.key, certificateLimits.keyChars);
  const { api, input } = await openDomain(shell, domain, flags);
  const payload = { chain, privateKey, fallback: flags.fallback };
  const saved = await api.call(certificateCalls.setOwnCertificate, { ...input, payload });
  outputOf(shell, flags).result(saved, certificateText(saved));
}

async function update(shell: Shell, domain: string, { fallback, ...flags }: UpdateFlags): Promise<void> {
  if (fallback === undefined) throw new ClientError('usage', 'give --fallback or --no-fallback');
  const { api, input } = await openDomain(shell, domain, flags);
  const saved = await api.call(certificateCalls.changeOwnCertificate, { ...input, payload: { fallback } });
  outputOf(shell, flags).result(saved, certificateText(saved));
}

async function remove(shell: Shell, domain: string, flags: ConfirmedFlags): Promise<void> {
  const { api, input } = await openDomain(shell, domain, flags);
  await confirm(shell.io, 'Its key is deleted.', `Remove the certificate of ${input.host}?`, flags.yes);
  await api.call(certificateCalls.deleteOwnCertificate, input);
  outputOf(shell, flags).result({ deleted: input.host }, `Removed the certificate of ${input.host}.`);
}

function certificateText({ names, issuer, keyType, until, fallback, fingerprint, warning }: OwnCertificate): string {
  const fields = renderFields([
    ['Names', names.join(', ')],
    ['Issuer', issuer],
    ['Key', keyType],
    ['Ends', until],
    ['Then', fallback ? 'a certificate of the service if the domain leads here' : 'none: visitors are not served'],
    ['SHA-256', fingerprint],
  ]);
  return warning === undefined ? fields : `${fields}\n\n${warning}`;
}
