// The path of a request as the log may contain it: without tokens and codes that let somebody in.

import { calls, secretNames } from '@underpass/rules/api/calls.ts';
import { tokenLength } from '../../platform/secret/token.ts';

/** Pages that mails link to; a token follows the name. */
const pages = ['login', 'magiclink', 'confirm', 'invitations', 'alerts/unsubscribe'];

const isSecret = (segment: string): boolean => (secretNames as readonly string[]).includes(segment.slice(1));

/** The path before a secret segment of a call: `api/device`. */
const prefixesOfCalls = (): string[] =>
  Object.values(calls).flatMap(({ path }) => {
    const segments = path.split('/').slice(1);
    const at = segments.findIndex((segment) => segment.startsWith(':') && isSecret(segment));
    return at === -1 ? [] : [segments.slice(0, at).join('/+')];
  });

const prefixes = [...new Set([...pages, ...prefixesOfCalls()])].join('|');
// Matches any case and doubled slashes: routers ignore both, so the page would open.
const afterPrefix = new RegExp(`^/+(${prefixes})/+.+$`, 'is');
// Session and tunnel tokens, and API tokens with their prefix. An ordinary name of that length is hidden too.
const tokens = new RegExp(`[\\w-]{${tokenLength},}`, 'g');

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

export function loggedPath(path: string): string {
  const hidden = decode(path).replace(afterPrefix, '/$1/[secret]');
  // Only a path with a secret is logged decoded. Others stay encoded, so they cannot contain line ends.
  return (hidden.endsWith('/[secret]') ? hidden : path).replace(tokens, '[secret]');
}
