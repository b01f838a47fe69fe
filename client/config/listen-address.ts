// The address of this machine on which a client listens: of its health and of `underpass reach`.
import { accept, type Parsed, refuse } from '@underpass/rules/parsed.ts';

/** `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, which is loopback; also `PORT` where that is enough. */
export function parseListenAddress(text: string, { isPortEnough = false } = {}): Parsed<{ host: string; port: number }> {
  const whole = isPortEnough && /^\d+$/.test(text) ? `:${text}` : text;
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(whole);
  const port = Number(match?.[3] ?? Number.NaN);
  if (match === null || port > 65_535) return refuse(`'${text}' is not an address, e.g. 127.0.0.1:8471`);
  return accept({ host: match[1] || match[2] || '127.0.0.1', port });
}
