// The inputs of the connect section, their messages, and the snippet that they make (spec 2 and 5, Connect snippets).

import { accept, type Parsed, refuse } from '../parsed.ts';
import type { TunnelType } from '../tunnel/tunnel-type.ts';
import {
  defaultUpstreams,
  formatUpstream,
  parseIngressUpstreams,
  parsePlainUpstream,
  parseTcpService,
} from '../tunnel/upstream.ts';
import { renderCliSnippet } from './cli-snippet.ts';
import type { ConnectTunnel, ConnectUpstreams } from './command.ts';
import { type IngressService, ingressPresets, parseNamespace, parseServiceName, serviceHost } from './ingress-preset.ts';
import { renderKubernetesSnippet } from './kubernetes-snippet.ts';
import { resourceName } from './resource-name.ts';
import type { Snippet, SnippetTab } from './snippet.ts';
import { renderSystemdSnippet } from './systemd-snippet.ts';

interface InputsOfType {
  readonly http: { readonly upstreams: readonly DomainUpstream[] };
  readonly ingress: { readonly upstream: string } & IngressService;
  readonly tcp: { readonly upstream: string };
}

export type ConnectInputs = { readonly [T in TunnelType]: { readonly type: T } & InputsOfType[T] }[TunnelType];

export interface DomainUpstream {
  readonly domain: string;
  readonly upstream: string;
}

/** Messages by input: `upstream`, `service`, `namespace`, or a domain's name for its upstream. */
export type ConnectErrors = Readonly<Record<string, string>>;

const renderers: Readonly<Record<SnippetTab, (tunnel: ConnectTunnel, upstreams: ConnectUpstreams) => Snippet>> = {
  kubernetes: renderKubernetesSnippet,
  cli: renderCliSnippet,
  systemd: renderSystemdSnippet,
};

interface ConnectTarget {
  readonly name: string;
  readonly type: TunnelType;
  readonly ingressDomains: readonly { readonly name: string }[];
}

export function defaultConnectInputs(tunnel: ConnectTarget, tab: SnippetTab): ConnectInputs {
  switch (tunnel.type) {
    case 'http': {
      const upstream = tab === 'kubernetes' ? clusterUpstream(tunnel.name) : defaultUpstreams.http;
      return { type: 'http', upstreams: tunnel.ingressDomains.map(({ name }) => ({ domain: name, upstream })) };
    }
    case 'ingress': {
      const { service, namespace } = ingressPresets[0]!;
      return { type: 'ingress', upstream: defaultUpstreams.ingress, service, namespace };
    }
    case 'tcp':
      return { type: 'tcp', upstream: tab === 'kubernetes' ? `${clusterService(tunnel.name)}:5432` : defaultUpstreams.tcp };
  }
}

/** The Service that is named like the tunnel: in a pod, 127.0.0.1 is the client itself. */
const clusterService = (tunnelName: string): string => serviceHost({ service: resourceName(tunnelName), namespace: 'default' });

const clusterUpstream = (tunnelName: string): string => `http://${clusterService(tunnelName)}:80`;

/** Empty: the snippet may be copied. Only the inputs that the tab shows are judged. */
export function connectErrors(inputs: ConnectInputs, tab: SnippetTab): ConnectErrors {
  const judged = judgeInputs(inputs, tab);
  return Object.fromEntries(judged.flatMap(([input, parsed]) => (parsed.ok ? [] : [[input, parsed.message]])));
}

/** Always text, so that the page can show it while an input is wrong; whatever is typed stays quoted. */
export function renderConnectSnippet(tunnel: ConnectTunnel, inputs: ConnectInputs, tab: SnippetTab): Snippet {
  return renderers[tab](tunnel, snippetUpstreams(inputs, tab));
}

/** The snippet for a caller that accepts only a correct one: the CLI's `--print`. */
export function parseConnectSnippet(tunnel: ConnectTunnel, inputs: ConnectInputs, tab: SnippetTab): Parsed<Snippet> {
  const [problem] = Object.entries(connectErrors(inputs, tab));
  return problem ? refuse(`${problem[0]}: ${problem[1]}`) : accept(renderConnectSnippet(tunnel, inputs, tab));
}

function judgeInputs(inputs: ConnectInputs, tab: SnippetTab): readonly (readonly [string, Parsed<unknown>])[] {
  if (inputs.type === 'http') return inputs.upstreams.map(({ domain, upstream }) => [domain, parsePlainUpstream(upstream)]);
  if (inputs.type === 'tcp') return [['upstream', parseTcpService(inputs.upstream)]];
  if (tab !== 'kubernetes') return [['upstream', parseIngressUpstreams(inputs.upstream)]];
  return [
    ['service', parseServiceName(inputs.service)],
    ['namespace', parseNamespace(inputs.namespace)],
  ];
}

function snippetUpstreams(inputs: ConnectInputs, tab: SnippetTab): ConnectUpstreams {
  if (inputs.type === 'http') {
    return { type: 'http', upstreams: inputs.upstreams.map(({ domain, upstream }) => ({ domain, upstream: upstream.trim() })) };
  }
  if (inputs.type === 'tcp') {
    const parsed = parseTcpService(inputs.upstream);
    return { type: 'tcp', upstream: parsed.ok ? formatUpstream(parsed.value) : inputs.upstream.trim() };
  }
  if (tab !== 'kubernetes') {
    const parsed = parseIngressUpstreams(inputs.upstream);
    return { type: 'ingress', upstream: parsed.ok ? parsed.value : inputs.upstream.trim() };
  }
  return { type: 'ingress', upstream: serviceHost({ service: inputs.service.trim(), namespace: inputs.namespace.trim() }) };
}
