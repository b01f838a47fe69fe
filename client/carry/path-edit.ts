// Rewrites heads for an upstream below a base path: the target on the way in, Location and the paths of cookies on the way out.
// Bodies stay as they are. Pure.

import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import { isBelow } from '@underpass/rules/visit/path-match.ts';
import type { HeadEditor } from '@underpass/wire/http/exchange-follower.ts';
import { createHostEditor, editFields } from './host-edit.ts';

/** Edits for one connection. `target`: what the upstream gets of it is decided before (rules/visit/upstream-path.ts). */
export function createPathEditor(upstream: Upstream, sentHost: string | undefined, nextTarget: () => string): HeadEditor {
  const host = sentHost === undefined ? null : createHostEditor(upstream, sentHost);
  const { base = '' } = upstream;
  let publicHost = '';
  return {
    editRequest(head, bytes, from, end) {
      publicHost = head.authority;
      const moved = base === '' ? null : withTarget(bytes.toString('latin1', from, end), nextTarget());
      const text = moved ?? bytes.subarray(from, end);
      return host?.editRequest(head, text, 0, text.length) ?? moved;
    },
    editResponse(head, bytes, from, end) {
      const named = host?.editResponse(head, bytes, from, end) ?? null;
      if (base === '') return named;
      const text = named?.toString('latin1') ?? bytes.toString('latin1', from, end);
      return mayNamePath.test(text) ? editFields(text, (name, value) => publicValue(name, value, base, publicHost)) : named;
    },
  };
}

const mayNamePath = /\n(location|content-location|set-cookie)[ \t]*:/i;

const withTarget = (text: string, target: string): Buffer =>
  Buffer.from(
    text.replace(/ [^ ]*/, () => ` ${target}`),
    'latin1',
  );

function publicValue(name: string, value: string, base: string, publicHost: string): string | undefined {
  if (name === 'location' || name === 'content-location') return publicLocation(value, base, publicHost);
  if (name !== 'set-cookie') return undefined;
  return value.replace(/(;\s*path=)([^;]*)/i, (all, start: string, path: string) =>
    isBelow(path.trim(), base) ? `${start}${path.trim().slice(base.length) || '/'}` : all,
  );
}

/**
 * An address of the upstream below its base. Another one stays: below the public name it leads to the same base. So does one
 * whose rest a browser takes for a host: it ignores tabs, and "\\" is a slash.
 */
function publicLocation(value: string, base: string, publicHost: string): string | undefined {
  const [, start = '', authority, path = '', rest = ''] = /^((?:https?:)?\/\/([^/?#\\]+)|)(\/[^?#]*)(.*)$/i.exec(value) ?? [];
  const isOwn = authority === undefined || authority.toLowerCase().replace(/:443$/, '') === publicHost.replace(/:443$/, '');
  if (!isOwn || !isBelow(path, base)) return undefined;
  const moved = path.slice(base.length) || '/';
  return /^\/\t*[/\\]/.test(moved) ? undefined : `${start}${moved}${rest}`;
}
