// Ingress controllers that the connect section knows by name (spec 2, Connect section).

import { accept, type Parsed, refuse } from '../parsed.ts';

export interface IngressService {
  readonly service: string;
  /** Empty: the namespace that the client itself is deployed to. */
  readonly namespace: string;
}

export interface IngressPreset extends IngressService {
  readonly name: 'ingress-nginx' | 'istio' | 'traefik' | 'custom';
}

export const ingressPresets: readonly IngressPreset[] = [
  { name: 'ingress-nginx', service: 'ingress-nginx-controller', namespace: 'default' },
  { name: 'istio', service: 'istio-ingress-gateway', namespace: 'istio-system' },
  { name: 'traefik', service: 'traefik', namespace: 'kube-system' },
  { name: 'custom', service: '', namespace: '' },
];

/** The preset with these values; `custom` for values of the user's own. */
export const presetOf = ({ service, namespace }: IngressService): IngressPreset =>
  ingressPresets.find((preset) => preset.service === service && preset.namespace === namespace) ?? ingressPresets.at(-1)!;

const dnsLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export function parseServiceName(text: string): Parsed<string> {
  const name = text.trim();
  if (name === '') return refuse('Please provide an ingress service name');
  return dnsLabel.test(name) ? accept(name) : refuse('Service name must be lowercase letters, digits and hyphens');
}

export function parseNamespace(text: string): Parsed<string> {
  const name = text.trim();
  return name === '' || dnsLabel.test(name) ? accept(name) : refuse('Namespace must be lowercase letters, digits and hyphens');
}

/** A DNS name that pods in any namespace resolve; without a namespace, the bare name, which resolves in the pod's own. */
export function serviceHost({ service, namespace }: IngressService): string {
  return namespace === '' ? service : `${service}.${namespace}.svc.cluster.local`;
}
