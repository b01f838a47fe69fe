// tunnels list|show|add|update|keep|rm: the same actions as in the dashboard.

import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { ProxyProtocol, Tunnel } from '@underpass/rules/entity/entity.ts';
import { tunnelTypesOf } from '@underpass/rules/entity/region.ts';
import { parseIngressDomain } from '@underpass/rules/names/ingress-domain.ts';
import { proxyProtocolWarning } from '@underpass/rules/tunnel/proxy-protocol.ts';
import { parseTunnelName } from '@underpass/rules/tunnel/tunnel-name.ts';
import { defaultTunnelType, type TunnelType, tunnelTypeNames, tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { type VisitorLogMode, visitorLogModes } from '@underpass/rules/tunnel/visitor-log.ts';
import { type Command, Option } from 'commander';
import { openProject, type ProjectAccount } from '../account/account.ts';
import { saveChange } from '../account/api.ts';
import { fetchTunnel } from '../account/connectable.ts';
import { ClientError } from '../process/error.ts';
import { type CommonFlags, canonicalOf, collectHosts, outputOf, projectCommand, type Shell } from './command-line.ts';
import { addEnd, addList } from './list-commands.ts';
import { renderTunnel, tunnelRow } from './tunnel-text.ts';

interface AddFlags extends CommonFlags {
  readonly region?: string;
  readonly type: TunnelType;
  readonly domain?: readonly string[];
  readonly generateDomain?: boolean;
  readonly proxyProtocol: ProxyFlag;
  readonly access?: string;
  readonly private?: boolean;
}

interface UpdateFlags extends CommonFlags {
  readonly domain?: readonly string[];
  readonly addDomain?: readonly string[];
  readonly rmDomain?: readonly string[];
  readonly proxyProtocol?: ProxyFlag;
  readonly group?: string;
  readonly access?: string | false;
  readonly visitorLog?: VisitorLogMode;
  readonly visitorLogQuery?: boolean;
  readonly traces?: boolean;
}

type ProxyFlag = 'off' | 'v1' | 'v2';

export function addTunnelCommands(program: Command, shell: Shell): void {
  const tunnels = program.command('tunnels').description('Tunnels connect your applications to the Internet.');
  addList(tunnels, shell, {
    about: 'List the tunnels.',
    example: 'underpass tunnels list',
    read: async ({ api, project }) => (await api.call(tunnelCalls.listTunnels, { project: project.id })).map(withoutToken),
    columns: ['NAME', 'TYPE', 'REGION', 'STATUS', 'DOMAINS'],
    cells: tunnelRow,
    none: 'No tunnels. Create one: underpass tunnels add my-app --generate-domain',
  });
  projectCommand(tunnels, 'show <tunnel>', 'Show one tunnel.', ['underpass tunnels show shop']).action(
    (name: string, flags: CommonFlags) => show(shell, name, flags),
  );
  addAdd(tunnels, shell);
  addUpdate(tunnels, shell);
  projectCommand(tunnels, 'keep <tunnel>', 'Remove the expiry of a quick tunnel: it is not deleted any more.', [
    'underpass tunnels keep calm-otter-k4n7q2w6zd',
  ]).action((name: string, flags: CommonFlags) => keep(shell, name, flags));
  addEnd(tunnels, shell, {
    words: '<tunnel>',
    about: 'Delete a tunnel and disconnect its clients.',
    example: 'underpass tunnels rm shop --yes',
    warning: 'Deleting this tunnel will disconnect all clients and interrupt all network traffic. This operation is permanent.',
    deed: 'Delete',
    end: ({ api, project }, name) => api.call(tunnelCalls.deleteTunnel, { project: project.id, name: canonicalName(name) }),
  });
}

function proxyOption(): Option {
  return new Option('--proxy-protocol <version>', 'PROXY protocol towards the upstream').choices(['off', 'v1', 'v2']);
}

function addAdd(tunnels: Command, shell: Shell): void {
  projectCommand(tunnels, 'add <name>', 'Create a tunnel.', [
    'underpass tunnels add shop --generate-domain',
    'underpass tunnels add shop --domain shop.example.com --region eu1',
    'underpass tunnels add cluster --type ingress --domain app.example.com --proxy-protocol v2',
    'underpass tunnels add database --type tcp',
    'underpass tunnels add database --type tcp --private',
  ])
    .option('--region <name>', 'region (default: the first available one)')
    .addOption(
      new Option('--type <type>', 'http ends TLS at the edge, ingress passes it through, tcp gets a public port')
        .choices(tunnelTypeNames)
        .default(defaultTunnelType),
    )
    .option('--domain <name>', 'ingress domain; may be repeated', collectHosts)
    .addOption(new Option('--generate-domain', 'let the region choose a name').conflicts('domain'))
    .addOption(proxyOption().default('off'))
    .option('--access <policy>', 'access policy of an http tunnel: who may visit it')
    .option('--private', 'a tcp tunnel without a public port: for "underpass reach"')
    .action((name: string, flags: AddFlags) => add(shell, name, flags));
}

function addUpdate(tunnels: Command, shell: Shell): void {
  projectCommand(tunnels, 'update <tunnel>', 'Change domains, PROXY protocol, security group, access policy or visitor log.', [
    'underpass tunnels update shop --add-domain www.example.com --group office',
    'underpass tunnels update shop --proxy-protocol v2',
    'underpass tunnels update shop --visitor-log truncated',
  ])
    .option('--domain <name>', 'the whole new list; may be repeated', collectHosts)
    .option('--add-domain <name>', 'add an ingress domain; may be repeated', collectHosts)
    .option('--rm-domain <name>', 'remove an ingress domain; may be repeated', collectHosts)
    .addOption(proxyOption())
    .option('--group <name>', 'security group')
    .option('--access <policy>', 'access policy of an http tunnel')
    .option('--no-access', 'no access policy')
    .addOption(
      new Option(
        '--visitor-log <addresses>',
        'note who visits, and what of their addresses; a change deletes what was noted',
      ).choices(visitorLogModes),
    )
    .option('--visitor-log-query', 'note the query of each path too')
    .option('--no-visitor-log-query', 'note paths alone')
    .option('--traces', 'begin a trace (traceparent) for requests that bring none')
    .option('--no-traces', 'pass on what requests bring, and nothing else')
    .action((name: string, flags: UpdateFlags) => update(shell, name, flags));
}

const canonicalName = (name: string) => canonicalOf(parseTunnelName, name);
const proxyOf = (flag: ProxyFlag): ProxyProtocol => (flag === 'off' ? '' : flag);

async function show(shell: Shell, name: string, flags: CommonFlags): Promise<void> {
  await printTunnel(shell, await openProject(shell.io, flags), name, flags);
}

async function add(shell: Shell, name: string, flags: AddFlags): Promise<void> {
  const needsDomain = tunnelTypes[flags.type].foundBy === 'name';
  if (needsDomain && !flags.domain && !flags.generateDomain)
    throw new ClientError('usage', 'give --domain NAME or --generate-domain');
  if (flags.generateDomain && !tunnelTypes[flags.type].edgeEndsTls)
    throw new ClientError('usage', '--generate-domain is for http tunnels: give --domain NAME');
  if (flags.private && flags.type !== 'tcp') throw new ClientError('usage', '--private is for tcp tunnels: add --type tcp');
  const account = await openProject(shell.io, flags);
  const region = await regionFor(account, flags.region, flags.type);
  const payload = {
    name,
    region,
    ingressDomains: flags.domain ?? [],
    proxyProtocol: proxyOf(flags.proxyProtocol),
    type: flags.type,
    ...(flags.access === undefined ? {} : { accessPolicy: flags.access }),
    ...(flags.private ? { private: true } : {}),
  };
  const made = await account.api.call(tunnelCalls.createTunnel, { project: account.project.id, payload });
  if (flags.private && made.port !== undefined) await undoPublic(account, name);
  await printTunnel(shell, account, name, flags);
}

/** An earlier server ignores `private`, and gives a public port. */
async function undoPublic({ api, project }: ProjectAccount, name: string): Promise<never> {
  await api.call(tunnelCalls.deleteTunnel, { project: project.id, name: canonicalName(name) });
  throw new ClientError('request-refused', 'this server is too old for private tunnels; nothing was created', {
    fix: 'Ask the operator to update the server.',
  });
}

/** The region named by --region, else the first available one that offers the type, if one does. */
export async function regionFor(
  { api }: ProjectAccount,
  wanted: string | undefined,
  type: TunnelType = defaultTunnelType,
): Promise<string> {
  const regions = await api.call(tunnelCalls.listRegions, {});
  const named = regions.filter(({ name, available }) => (wanted === undefined ? available : name === wanted));
  const region = named.find((each) => tunnelTypesOf(each).includes(type)) ?? named[0];
  if (region !== undefined) return region.name;
  const missing = wanted === undefined ? 'No region is available' : `Region '${wanted}' not found`;
  throw new ClientError('not-found', missing, { fix: 'Run "underpass regions".' });
}

async function update(shell: Shell, name: string, flags: UpdateFlags): Promise<void> {
  const { domain, addDomain, rmDomain, proxyProtocol, group, access, visitorLog, visitorLogQuery, traces } = flags;
  const given = [domain, addDomain, rmDomain, proxyProtocol, group, access, visitorLog, visitorLogQuery, traces];
  if (given.every((flag) => flag === undefined))
    throw new ClientError(
      'usage',
      'say what to change: --domain, --add-domain, --rm-domain, --proxy-protocol, --group, --access, --visitor-log or --traces',
    );
  const account = await openProject(shell.io, flags);
  await saveChange(
    () => fetchTunnel(account, name),
    (before) => {
      const change = {
        ingressDomains: nextDomains(before, flags),
        proxyProtocol: proxyProtocol === undefined ? before.proxyProtocol : proxyOf(proxyProtocol),
        securityGroup: group ?? before.securityGroup,
        ...(access === undefined ? {} : { accessPolicy: access || '' }),
        ...(visitorLog === undefined ? {} : { visitorLog }),
        ...(visitorLogQuery === undefined ? {} : { visitorLogQuery }),
        ...(traces === undefined ? {} : { beginsTraces: traces }),
      };
      const warning = proxyProtocolWarning(before.proxyProtocol, change.proxyProtocol);
      if (warning !== null) outputOf(shell, flags).warning(warning);
      const input = { project: account.project.id, name: canonicalName(name), payload: change, basedOn: before.updatedAt };
      return account.api.call(tunnelCalls.updateTunnel, input);
    },
  );
  await printTunnel(shell, account, name, flags);
}

function nextDomains(before: Tunnel, flags: UpdateFlags): readonly string[] {
  const { domain, addDomain } = flags;
  const rmDomain = flags.rmDomain?.map((name) => canonicalOf(parseIngressDomain, name));
  if (domain && (addDomain || rmDomain)) throw new ClientError('usage', 'give either --domain, or --add-domain and --rm-domain');
  if (domain) return domain;
  const names = before.ingressDomains.map((item) => item.name);
  const unknown = rmDomain?.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const fix = `Run "underpass tunnels show ${before.name}".`;
    throw new ClientError('not-found', `${before.name} has no ingress domain '${unknown}'`, { fix });
  }
  return [...names.filter((name) => !rmDomain?.includes(name)), ...(addDomain ?? [])];
}

async function keep(shell: Shell, name: string, flags: CommonFlags): Promise<void> {
  const account = await openProject(shell.io, flags);
  await account.api.call(tunnelCalls.keepTunnel, { project: account.project.id, name: canonicalName(name) });
  await printTunnel(shell, account, name, flags);
}

async function printTunnel(shell: Shell, account: ProjectAccount, name: string, flags: CommonFlags): Promise<void> {
  const tunnel = await fetchTunnel(account, name);
  outputOf(shell, flags).result(withoutToken(tunnel), renderTunnel(tunnel));
}

/** Only `token` and `connect --print` show the token, so that a listing is safe to paste into a ticket. */
function withoutToken({ token: _, ...rest }: Tunnel): Omit<Tunnel, 'token'> {
  return rest;
}
