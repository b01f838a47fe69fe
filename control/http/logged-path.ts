// The path of a request as it may be logged: whatever lets somebody in is left out of it.

import { calls, secretNames } from '@underpass/rules/calls.ts';
import { tokenLength } from '../secret/token.ts';

/** Pages that mails lead to; their token follows. */
const pages = ['login', 'magiclink', 'invitations'];

const isSecret = (segment: string): boolean => (secretNames as readonly string[]).includes(segment.slice(1));

/** What comes before a secret segment of a call: `api/device`. */
const prefixesOfCalls = (): string[] =>
  Object.values(calls).flatMap(({ path }) => {
    const segments = path.split('/').slice(1);
    const at = segments.findIndex((segment) => segment.startsWith(':') && isSecret(segment));
    return at === -1 ? [] : [segments.slice(0, at).join('/+')];
  });

const prefixes = [...new Set([...pages, ...prefixesOfCalls()])].join('|');
// However the prefix is written, the page behind it may open: routers ignore case and doubled slashes.
const afterPrefix = new RegExp(`^/+(${prefixes})/+.+$`, 'is');
// Session and tunnel tokens, API tokens with their prefix; a name as long as one is hidden with them.
const tokens = new RegExp(`[\\w-]{${tokenLength},}`, 'g');

const decode = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};

export const loggedPath = (path: string): string => {
  const hidden = decode(path).replace(afterPrefix, '/$1/[secret]');
  // Only what hides something is logged decoded: the rest stays as it came, with no line ends in it.
  return (hidden.endsWith('/[secret]') ? hidden : path).replace(tokens, '[secret]');
};
