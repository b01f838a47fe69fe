// The name of a tunnel within its project (spec 5, Tunnel name).

import { lowerAscii } from '../names/hostname.ts';
import { accept, type Parsed, refuse } from '../parsed.ts';

export const tunnelNameMaxChars = 252;
/** Matches the canonical name. */
export const tunnelNamePattern = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

/** What the input shows for what was typed. */
export function lowerTunnelName(text: string): string {
  return lowerAscii(text);
}

export function parseTunnelName(text: string): Parsed<string> {
  const name = lowerTunnelName(text.trim());
  const fits = name.length <= tunnelNameMaxChars && tunnelNamePattern.test(name);
  return fits ? accept(name) : refuse('A name that can be used as a DNS subdomain is required');
}
