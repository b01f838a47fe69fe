// The state of the New Tunnel form and the effect of each change (spec 5, Tunnel name to Region and type). Pure.
import type { PayloadOf } from '@underpass/rules/api/call.ts';
import type { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { ProxyProtocol, Region } from '@underpass/rules/entity/entity.ts';
import { decideTunnelType, defaultRegion, generatorDomain, parseRegion } from '@underpass/rules/entity/region.ts';
import { parseIngressDomains } from '@underpass/rules/names/ingress-domain.ts';
import { accept, collectErrors, type ParsedForm } from '@underpass/rules/parsed.ts';
import { lowerTunnelName, parseTunnelName } from '@underpass/rules/tunnel/tunnel-name.ts';
import { defaultTunnelType, type TunnelType, tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';

export type NewTunnel = PayloadOf<typeof tunnelCalls.createTunnel>;

export interface NewTunnelForm {
  readonly name: string;
  readonly region: string;
  readonly type: TunnelType;
  /** What the user chose: a region that does not offer it changes only `type`. */
  readonly wantedType: TunnelType;
  /** A tcp tunnel without a public port. */
  readonly isPrivate: boolean;
  readonly generate: boolean;
  readonly domains: readonly string[];
  readonly pendingDomain: string;
  readonly proxyProtocol: ProxyProtocol;
}

export type NewTunnelField = 'name' | 'region' | 'domains';

/** undefined if no region is available: the form is hidden then. */
export function initialForm(regions: readonly Region[]): NewTunnelForm | undefined {
  const region = defaultRegion(regions);
  if (!region) return undefined;
  const type = decideTunnelType(region);
  return {
    name: '',
    region: region.name,
    type,
    wantedType: defaultTunnelType,
    isPrivate: false,
    generate: false,
    domains: [],
    pendingDomain: '',
    proxyProtocol: '',
  };
}

export const setName = (form: NewTunnelForm, name: string): NewTunnelForm => ({ ...form, name: lowerTunnelName(name) });

/** A region without TLS termination forces ingress. Generate turns off if the region cannot generate. */
export function setRegion(form: NewTunnelForm, region: Region): NewTunnelForm {
  return withGenerator({ ...form, region: region.name, type: decideTunnelType(region, form.wantedType) }, region);
}

export function setType(form: NewTunnelForm, type: TunnelType, region: Region): NewTunnelForm {
  return withGenerator({ ...form, type, wantedType: type }, region);
}

/** Turning it on clears the typed domains. */
export function setGenerate(form: NewTunnelForm, generate: boolean): NewTunnelForm {
  return generate ? { ...form, generate, domains: [], pendingDomain: '' } : { ...form, generate };
}

/** A tunnel that is found by its port has no domains. */
export const hasDomains = ({ type }: Pick<NewTunnelForm, 'type'>): boolean => tunnelTypes[type].foundBy === 'name';

function withGenerator(given: NewTunnelForm, region: Region): NewTunnelForm {
  const form = hasDomains(given) ? given : { ...given, domains: [], pendingDomain: '' };
  return generatorDomain(region, form.type) === null ? { ...form, generate: false } : form;
}

export function parseNewTunnel(form: NewTunnelForm, regions: readonly Region[]): ParsedForm<NewTunnel, NewTunnelField> {
  const name = parseTunnelName(form.name);
  const isPrivate = form.isPrivate && !hasDomains(form);
  const region = parseRegion(regions, form.region, form.type, isPrivate);
  const domains = parseIngressDomains(form.domains, {
    generate: form.generate || !hasDomains(form),
    pending: form.pendingDomain,
  });
  if (!name.ok || !region.ok || !domains.ok) return { ok: false, errors: collectErrors({ name, region, domains }) };
  const { type, proxyProtocol } = form;
  const own = isPrivate ? { private: true } : {};
  return accept({ name: name.value, region: region.value.name, ingressDomains: domains.value, proxyProtocol, type, ...own });
}
