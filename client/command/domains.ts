// domains list|add|verify|rm: apex domains and the proof that they are yours.

import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import type { Domain } from '@underpass/rules/entity/entity.ts';
import { parseApexDomain } from '@underpass/rules/names/apex-domain.ts';
import { adviseRecord, type DnsProviderName, dnsProviders } from '@underpass/rules/names/dns-provider.ts';
import { propagationNote, verificationRecord } from '@underpass/rules/names/dns-record.ts';
import { unwrapHost } from '@underpass/rules/text/typed-list.ts';
import type { Command } from 'commander';
import { openProject } from '../account/account.ts';
import type { Api } from '../account/api.ts';
import { ClientError } from '../process/error.ts';
import { renderFields } from '../terminal/output.ts';
import { type CommonFlags, canonicalOf, outputOf, projectCommand, type Shell } from './command-line.ts';
import { addEnd, addList } from './list-commands.ts';

export function addDomainCommands(program: Command, shell: Shell): void {
  const domains = program.command('domains').description('Verified domains of the project.');
  addList(domains, shell, {
    about: 'List the domains.',
    example: 'underpass domains list --json',
    read: ({ api, project }) => api.call(domainCalls.listDomains, { project: project.id }),
    columns: ['DOMAIN', 'STATUS', 'TXT RECORD'],
    cells: (domain) => [domain.apexName, statusOf(domain), verificationRecord(domain.challenge).value],
    none: 'No domains. Register one: underpass domains add example.com',
  });
  projectCommand(domains, 'add <apex>', 'Register a domain and show the TXT record that proves it.', [
    'underpass domains add example.com',
  ]).action((apex: string, flags: CommonFlags) => add(shell, canonicalApex(apex), flags));
  projectCommand(domains, 'verify <apex>', 'Look for the TXT record now.', ['underpass domains verify example.com']).action(
    (apex: string, flags: CommonFlags) => verify(shell, canonicalApex(apex), flags),
  );
  addEnd(domains, shell, {
    words: '<apex>',
    about: 'Delete a domain.',
    example: 'underpass domains rm example.com --yes',
    warning: 'This operation is permanent.',
    deed: 'Delete the domain',
    canonical: canonicalApex,
    end: ({ api, project }, apexName) => api.call(domainCalls.deleteDomain, { project: project.id, apexName }),
  });
}

const canonicalApex = (text: string) => canonicalOf(parseApexDomain, unwrapHost(text));

async function add(shell: Shell, apex: string, flags: CommonFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  await api.call(domainCalls.createDomain, { project: project.id, payload: { name: apex } });
  const domain = await api.call(domainCalls.getDomain, { project: project.id, apexName: apex });
  outputOf(shell, flags).result(domain, domainText(domain, await findProvider(api, project.id, domain)));
}

async function verify(shell: Shell, apex: string, flags: CommonFlags): Promise<void> {
  const { api, project } = await openProject(shell.io, flags);
  const domain = await api.call(domainCalls.verifyDomain, { project: project.id, apexName: apex });
  outputOf(shell, flags).result(domain, domainText(domain, await findProvider(api, project.id, domain)));
  if (!domain.verified) throw new ClientError('domain-unverified', domain.apexName);
}

/** Only for the advice: a failure does not matter. */
async function findProvider(api: Api, project: string, { verified, apexName }: Domain): Promise<DnsProviderName | undefined> {
  if (verified) return undefined;
  try {
    return (await api.call(domainCalls.getDomainDns, { project, apexName })).provider;
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}

function statusOf(domain: Domain): string {
  return domain.verified ? 'Verified' : 'Unverified';
}

function domainText(domain: Domain, provider: DnsProviderName | undefined): string {
  const fields = renderFields([
    ['Domain', domain.apexName],
    ['Status', statusOf(domain)],
  ]);
  if (domain.verified) return fields;
  const proof = verificationRecord(domain.challenge);
  const { type, name, value } = proof;
  const record = renderFields([
    ['  Type', type],
    ['  Name', name],
    ['  Value', value],
  ]);
  const at = provider === undefined ? 'your DNS provider' : dnsProviders[provider].label;
  const advice = provider === undefined ? '' : `${adviseRecord(provider, proof, domain).join('\n')}\n`;
  return `${fields}\n\nSet this record at ${at}:\n${record}\n${advice}${propagationNote}\n\nNext: underpass domains verify ${domain.apexName}`;
}
