// Rewrites heads for an upstream that must see a host name of its own (`--upstream-host`): Host and Origin on the way in, Location
// and the domains of cookies on the way out. Never the forwarded fields, which keep the public name, nor a body. Pure.

import { inBrackets } from '@underpass/rules/address/address.ts';
import { isLoopbackHost, type Upstream, usesTls } from '@underpass/rules/tunnel/upstream.ts';
import { hostOf } from '@underpass/wire/http/authority.ts';
import type { HeadEditor } from '@underpass/wire/http/exchange-follower.ts';

/** `sentHost`: what parseUpstreamHost made. One editor for each connection: it remembers for which host the request came. */
export function createHostEditor(upstream: Upstream, sentHost: string): HeadEditor {
  const own = ownNames(upstream, sentHost);
  const sentOrigin = `${webScheme(upstream)}://${sentHost}`;
  let publicHost = '';
  return {
    editRequest(head, bytes, from, end) {
      publicHost = head.authority;
      const text = bytes.toString('latin1', from, end);
      const origin = head.wantsUpgrade || navigates.test(text) ? publicOrigin(publicHost) : undefined;
      return editFields(text, (name, value) => {
        if (name === 'host') return sentHost;
        return name === 'origin' && value === origin ? sentOrigin : undefined;
      });
    },
    editResponse(_head, bytes, from, end) {
      const text = bytes.toString('latin1', from, end);
      return mayNameUpstream.test(text) ? editFields(text, (name, value) => responseValue(name, value, own, publicHost)) : null;
    },
  };
}

/**
 * Matches a form or a link, where frameworks compare Origin with Host, as they do for WebSockets. What scripts fetch keeps the
 * public Origin: there frameworks compare it with X-Forwarded-Host. Another site's Origin always stays, so that it can be refused.
 */
const navigates = /\nsec-fetch-mode:[ \t]*navigate[ \t]*\r/i;

/** An edge serves http tunnels with TLS only. */
const publicOrigin = (authority: string): string => `https://${authority.replace(/:443$/, '')}`;

const mayNameUpstream = /\n(location|set-cookie)[ \t]*:/i;

/** Undefined leaves the line as it is. */
type EditValue = (name: string, value: string) => string | undefined;

export function editFields(text: string, edit: EditValue): Buffer {
  const [start = '', ...lines] = text.split('\r\n');
  const edited = lines.map((line) => {
    const colon = line.indexOf(':');
    const value = colon < 0 ? undefined : edit(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    return value === undefined ? line : `${line.slice(0, colon)}: ${value}`;
  });
  return Buffer.from([start, ...edited].join('\r\n'), 'latin1');
}

interface OwnNames {
  /** Host and port of every address that means the upstream. */
  readonly places: ReadonlySet<string>;
  readonly hosts: readonly string[];
}

const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

/** A service on loopback calls itself by any name that leads there. */
function ownNames(upstream: Upstream, sentHost: string): OwnNames {
  const { host, port } = upstream;
  const name = inBrackets(host);
  const hosts = [name, ...(isLoopbackHost(host) ? loopbackHosts : [])];
  const places = hosts.map((each) => `${each}:${port}`);
  return { places: new Set([...places, placeOf(sentHost, webScheme(upstream))]), hosts: [hostOf(sentHost), ...hosts] };
}

/** What a service calls itself in a URL. */
const webScheme = (upstream: Upstream): 'http' | 'https' => (usesTls(upstream) ? 'https' : 'http');

function placeOf(authority: string, scheme: 'http' | 'https'): string {
  return hostOf(authority) === authority ? `${authority}:${scheme === 'https' ? 443 : 80}` : authority;
}

function responseValue(name: string, value: string, own: OwnNames, publicHost: string): string | undefined {
  if (name === 'location') return publicLocation(value, own, publicHost);
  return name === 'set-cookie' ? publicCookie(value, own, hostOf(publicHost)) : undefined;
}

/** A redirect to the upstream's own address leads to the public name; a relative one already does. */
function publicLocation(value: string, own: OwnNames, publicHost: string): string | undefined {
  const [, scheme = '', authority = '', rest = ''] = /^(https?:|)\/\/([^/?#\\]+)(.*)$/i.exec(value) ?? [];
  const place = placeOf(authority.toLowerCase(), scheme.toLowerCase() === 'https:' ? 'https' : 'http');
  return authority !== '' && own.places.has(place) ? `${publicOrigin(publicHost)}${rest}` : undefined;
}

/** A browser refuses a cookie for a domain that is not above the public name. Without the attribute it is for that name alone. */
function publicCookie(value: string, own: OwnNames, publicHost: string): string | undefined {
  const [pair = '', ...attributes] = value.split(';');
  const kept = attributes.filter((attribute) => {
    const domain = /^domain\s*=\s*\.?(.*)$/i.exec(attribute.trim())?.[1]?.toLowerCase();
    return domain === undefined || isWithin(publicHost, domain) || !own.hosts.some((host) => isWithin(host, domain));
  });
  return kept.length === attributes.length ? undefined : [pair, ...kept].join(';');
}

/** RFC 6265 5.1.3. */
const isWithin = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`);
