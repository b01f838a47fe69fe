// The PROXY protocol setting of a tunnel (spec 2, New Tunnel and Update tunnel panels; spec 9).

import { accept, type Parsed, refuse } from '../parsed.ts';

export const proxyProtocolOptions = [
  { value: '', label: 'Disabled' },
  { value: 'v1', label: 'v1' },
  { value: 'v2', label: 'v2' },
] as const;

type ProxyProtocol = (typeof proxyProtocolOptions)[number]['value'];

const warning = 'Switching proxy protocol on for upstreams which do not support it will render the whole service inaccessible.';

/** The warning for a change in the update panel; null unless the change switches it on. */
export function proxyProtocolWarning(saved: ProxyProtocol, chosen: ProxyProtocol): string | null {
  return saved === '' && chosen !== '' ? warning : null;
}

export function parseProxyProtocol(text: string): Parsed<ProxyProtocol> {
  const option = proxyProtocolOptions.find(({ value }) => value === text);
  return option === undefined ? refuse("Proxy protocol must be '', 'v1' or 'v2'") : accept(option.value);
}
