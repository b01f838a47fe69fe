// The address that `--health` and the file of `underpass run` give.
import { accept, type Parsed, refuse } from '@underpass/rules/parsed.ts';

/** `HOST:PORT`, `[IPV6]:PORT` or `:PORT`, which is loopback. */
export function parseHealthAddress(text: string): Parsed<{ host: string; port: number }> {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3] ?? Number.NaN);
  if (match === null || port > 65_535) return refuse(`'${text}' is not a health address, e.g. 127.0.0.1:8471`);
  return accept({ host: match[1] || match[2] || '127.0.0.1', port });
}
