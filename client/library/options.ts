// The options of `listen` and `forward`: which go together. An unknown one is refused, because a misspelt `access` would open a
// tunnel to everyone.

import { ClientError } from '../process/error.ts';
import type { ForwardOptions, NamedOptions, QuickOptions, TokenOptions } from './underpass.d.ts';

export type Source =
  | { readonly kind: 'quick'; readonly options: QuickOptions }
  | { readonly kind: 'named'; readonly options: NamedOptions }
  | { readonly kind: 'token'; readonly options: TokenOptions };

const account = ['server', 'project', 'apiToken'] as const;
const optionNames: Readonly<Record<Source['kind'], readonly string[]>> = {
  quick: [...account, 'name', 'domain', 'access', 'group', 'region', 'keep', 'for'],
  named: [...account, 'tunnel'],
  token: ['url', 'token'],
};
/** Options that would mean everyone without a value. */
const guards = ['access', 'group', 'token'];

export function sourceOf(options: ForwardOptions, others: readonly string[]): Source {
  const kind = 'url' in options || 'token' in options ? 'token' : 'tunnel' in options ? 'named' : 'quick';
  const names = Object.keys(options);
  const unknown = names.find((name) => !optionNames[kind].includes(name) && !others.includes(name));
  if (unknown !== undefined) throw new ClientError('usage', unknownText(unknown, kind), { fix: knownText(kind, others) });
  const empty = guards.find((name) => names.includes(name) && !(options as Record<string, unknown>)[name]);
  if (empty !== undefined)
    throw new ClientError('usage', `the option '${empty}' has no value`, { fix: 'Give its value, or leave the option out.' });
  if (kind === 'token' && !(names.includes('url') && names.includes('token')))
    throw new ClientError('usage', "the options 'url' and 'token' go together", { fix: 'Copy both from the Connect section.' });
  if ('keep' in options && options.keep === true && options.for !== undefined)
    throw new ClientError('usage', "the options 'keep' and 'for' exclude each other", { fix: 'Leave one of them out.' });
  return { kind, options } as Source;
}

function unknownText(name: string, kind: Source['kind']): string {
  const others: readonly string[] = Object.values(optionNames).flat();
  return others.includes(name) ? `the option '${name}' is not for ${kindTexts[kind]}` : `'${name}' is not an option`;
}

const kindTexts: Readonly<Record<Source['kind'], string>> = {
  quick: 'a quick tunnel',
  named: "a tunnel that 'tunnel' names",
  token: "a tunnel that 'url' and 'token' name",
};

const knownText = (kind: Source['kind'], others: readonly string[]): string =>
  `Options are ${[...optionNames[kind], ...others].join(', ')}.`;
