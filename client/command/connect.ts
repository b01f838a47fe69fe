// connect: fetches a tunnel by its name and carries it, or prints the dashboard's snippets, from the same functions.
import { type ConnectInputs, defaultConnectInputs, parseConnectSnippet } from '@underpass/rules/connect/connect-form.ts';
import { ingressPresets } from '@underpass/rules/connect/ingress-preset.ts';
import { type SnippetTab, snippetTabs } from '@underpass/rules/connect/snippet.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { isPrivateTunnel } from '@underpass/rules/tunnel/tcp-address.ts';
import { maskToken } from '@underpass/rules/tunnel/token-mask.ts';
import { defaultUpstreams } from '@underpass/rules/tunnel/upstream.ts';
import { type Command, Option } from 'commander';
import { openProject } from '../account/account.ts';
import { type ConnectableTunnel, fetchTunnel, isServed, requireConnectable, verifiedUrls } from '../account/connectable.ts';
import { domainUpstreams, upstreamsOfFlags } from '../config/upstream-flags.ts';
import { ClientError, orUsage } from '../process/error.ts';
import { isLive } from '../tunnels/carry-loop.ts';
import type { Readiness } from '../tunnels/readiness.ts';
import {
  carryTunnel,
  type PrivateFlags,
  privateOf,
  tlsOf,
  type UpstreamFlags,
  withPrivateOptions,
  withUpstreamOptions,
} from './carry.ts';
import {
  type CommonFlags,
  collect,
  describe,
  outputOf,
  printUrlText,
  refuseOptions,
  type Shell,
  withPrint,
  withProject,
} from './command-line.ts';
import { domainNote } from './tunnel-text.ts';

interface ConnectFlags extends CommonFlags, UpstreamFlags, PrivateFlags {
  readonly json?: boolean;
  readonly upstream?: readonly string[];
  readonly print?: SnippetTab | 'url';
  readonly maskToken?: boolean;
  readonly preset?: string;
  readonly service?: string;
  readonly namespace?: string;
}

export function addConnectCommand(program: Command, shell: Shell): void {
  const command = describe(program.command('connect <tunnel>'), 'Carry a tunnel by its name, or print how to run its client.', [
    'underpass connect shop --upstream http://127.0.0.1:8080',
    'underpass connect shop --print systemd',
    'underpass connect cluster --print kubernetes --preset traefik | kubectl apply -f -',
  ]);
  withUpstreamOptions(
    withPrivateOptions(withProject(command)).option(
      '--upstream <upstream>',
      'as for http and ingress; may be repeated (default: port 8080 of this machine; with --print kubernetes, the service named like the tunnel)',
      collect,
    ),
  )
    .addOption(
      new Option('--print <what>', `a snippet to print instead of carrying; ${printUrlText}`).choices([
        ...snippetTabs.map(({ id }) => id),
        'url',
      ]),
    )
    .option('--mask-token', 'with --print: asterisks for the first characters of the token')
    .addOption(
      new Option('--preset <name>', 'with --print kubernetes: ingress controller').choices(
        ingressPresets.map(({ name }) => name),
      ),
    )
    .option('--service <name>', 'with --print kubernetes: service of the ingress controller')
    .option('--namespace <name>', 'with --print kubernetes: namespace of that service')
    .action((name: string, flags: ConnectFlags) => connect(shell, name, flags));
}

async function connect(shell: Shell, name: string, flags: ConnectFlags): Promise<void> {
  refuseUselessOptions(flags);
  const account = await openProject(shell.io, flags);
  const tunnel = requireConnectable(await fetchTunnel(account, name));
  requirePrivate(tunnel, flags);
  if (flags.print !== undefined && flags.print !== 'url') return print(shell, tunnel, flags.print, flags);
  const find = () => fetchTunnel(account, tunnel.name);
  const ready = { wanted: verifiedUrls(tunnel), isServed: isServed(tunnel, find) };
  return withPrint(shell, flags.print, (inner) => carryNamed(inner, tunnel, ready, flags));
}

async function carryNamed(shell: Shell, tunnel: ConnectableTunnel, ready: Readiness, flags: ConnectFlags): Promise<void> {
  const { name, url, token } = tunnel;
  const upstreams = upstreamsOfFlags(tunnel.type, upstreamTexts(tunnel, flags), flags.upstreamHost);
  const output = outputOf(shell, flags);
  // The live status shows the verified ones.
  const domains = isLive(shell.io, output.json)
    ? tunnel.ingressDomains.filter(({ verified }) => !verified)
    : tunnel.ingressDomains;
  for (const domain of domains) output.notice(`${domain.url}${domainNote(domain)}`);
  const own = { ...tlsOf(shell, flags), ...privateOf(shell, flags, isPrivateTunnel(tunnel)) };
  const config = { name, url, token: { kind: 'value', token } as const, upstreams, ...own };
  await carryTunnel(shell, config, flags, ready);
}

/** Whatever the server says, a client that was told --private carries nothing in plain text. */
function requirePrivate(tunnel: Tunnel, flags: PrivateFlags): void {
  if (flags.private && !isPrivateTunnel(tunnel))
    throw new ClientError('usage', `${tunnel.name} is not private: leave out --private, or name a private tunnel`);
}

const serviceOptions = ['preset', 'service', 'namespace'] as const;

function refuseUselessOptions(flags: ConnectFlags): void {
  if (flags.print === undefined || flags.print === 'url') refuseOptions(flags, ['maskToken', ...serviceOptions], 'for --print');
  else
    refuseOptions(
      flags,
      [
        'upstreamHost',
        'ca',
        'upstreamCa',
        'upstreamInsecure',
        'health',
        'inspect',
        'inspectPort',
        'webhookSecretFile',
        'keyFile',
      ],
      'not for --print',
    );
}

export async function fetchConnectable(shell: Shell, name: string, flags: CommonFlags): Promise<ConnectableTunnel> {
  return requireConnectable(await fetchTunnel(await openProject(shell.io, flags), name));
}

export function upstreamTexts(tunnel: Tunnel, { upstream }: { readonly upstream?: readonly string[] }): readonly string[] {
  return upstream ?? [defaultUpstreams[tunnel.type]];
}

function print(shell: Shell, tunnel: ConnectableTunnel, tab: SnippetTab, flags: ConnectFlags): void {
  if (tunnel.type !== 'ingress' || tab !== 'kubernetes')
    refuseOptions(flags, serviceOptions, 'for --print kubernetes of an ingress tunnel');
  const isPrivate = isPrivateTunnel(tunnel);
  const ticketsOnly = privateOf(shell, flags, isPrivate).private?.ticketsOnly === true;
  const token = flags.maskToken ? maskToken(tunnel.token) : tunnel.token;
  const snippet = orUsage(
    parseConnectSnippet({ ...tunnel, token, isPrivate, ticketsOnly }, connectInputs(tunnel, tab, flags), tab),
  );
  outputOf(shell, flags).result({ tunnel: tunnel.name, snippet: tab, text: snippet.text }, snippet.text);
}

function connectInputs(tunnel: Tunnel, tab: SnippetTab, flags: ConnectFlags): ConnectInputs {
  if (tunnel.type === 'http' && !flags.upstream) return defaultConnectInputs(tunnel, tab);
  if (tunnel.type === 'http') return { type: 'http', upstreams: domainUpstreams(tunnel, upstreamTexts(tunnel, flags)) };
  if (tunnel.type === 'tcp')
    return flags.upstream ? { type: 'tcp', upstream: flags.upstream.join(' ') } : defaultConnectInputs(tunnel, tab);
  if (tab === 'kubernetes' && flags.upstream !== undefined) {
    const instead = 'takes --preset, or --service and --namespace, not --upstream';
    throw new ClientError('usage', `--print kubernetes of an ingress tunnel ${instead}`);
  }
  const preset = ingressPresets.find(({ name }) => name === (flags.preset ?? 'ingress-nginx')) ?? ingressPresets[0];
  const upstream = upstreamTexts(tunnel, flags).join(' ');
  const service = flags.service ?? preset?.service ?? '';
  return { type: 'ingress', upstream, service, namespace: flags.namespace ?? preset?.namespace ?? '' };
}
