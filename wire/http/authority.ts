// The authority of a request: a host and perhaps a port, nothing else. RFC 3986 3.2, RFC 9110 7.2.

/** A name has at most 253 octets, a bracketed address far fewer; the port adds six. */
const maxAuthorityBytes = 260;
const shape = /^([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?$/;

/** The canonical authority (lower case, no trailing dot, port kept), or null. Refuses userinfo and paths. */
export function parseAuthority(bytes: Uint8Array, start: number, end: number): string | null {
  if (end - start > maxAuthorityBytes) return null;
  let text = '';
  for (let i = start; i < end; i++) {
    const octet = bytes[i] as number;
    text += String.fromCharCode(octet >= 65 && octet <= 90 ? octet + 32 : octet);
  }
  return canonicalAuthority(text);
}

/** The same for text that is already lower case. */
export function canonicalAuthority(text: string): string | null {
  const match = text.length > maxAuthorityBytes ? null : shape.exec(text);
  if (match === null || Number(match[2] ?? 0) > 65535) return null;
  const host = match[1] as string;
  const bare = host.endsWith('.') ? host.slice(0, -1) : host;
  return match[2] === undefined ? bare : `${bare}:${match[2]}`;
}

/** The host of a canonical authority. */
export function hostOf(authority: string): string {
  const colon = authority.lastIndexOf(':');
  return colon < 0 || authority.endsWith(']') ? authority : authority.slice(0, colon);
}
