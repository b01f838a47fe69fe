// Hostile values for every input of a snippet, and a real shell in a folder of its own to paste into.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import type { ConnectTunnel, ConnectUpstreams } from './command.ts';

/** Each means something to a shell, a unit file or YAML, at the start, in the middle or alone on a line. */
export const hostileValues: readonly string[] = [
  '',
  ' ',
  "it's",
  "'",
  "'\\''",
  '"quoted"',
  '\\',
  '\\n\\x41\\',
  '$(touch pwned)',
  '`touch pwned`',
  '$HOME ${HOME} $$ $1 $',
  '$(HOME) $$(HOME)',
  '%n %h %% %',
  '; touch pwned;',
  '&& touch pwned',
  '| tee pwned',
  '> pwned',
  '< /dev/null',
  '* ? [a-z] {a,b}',
  '~',
  '=ls',
  '-x',
  '--help',
  '!!',
  '# comment',
  'a # comment',
  'key: value',
  '- item',
  '&anchor',
  '*alias',
  '!!binary x',
  '@at',
  '{a: 1}',
  '[1, 2]',
  '|',
  '>-',
  '? x',
  '---',
  '...',
  'null',
  'yes',
  '0400',
  '1e3',
  '2026-01-01',
  'line\nline',
  'line\r\nline',
  '\n',
  'x\nTOKEN\ntouch pwned\n',
  'TOKEN',
  'x\nUNIT\ntouch pwned\n',
  'x\n[Service]\nExecStart=/bin/false',
  'back\\\nslash',
  'tab\tbell\u0007escape\u001b[2Jdelete\u007f',
  'next line\u0085, separators\u2028\u2029, mark\ufeff',
  'é漢😀',
  'a\0b',
  'x'.repeat(5000),
];

export const hostileText = fc.oneof(
  fc.constantFrom(...hostileValues),
  fc.string({
    unit: fc.constantFrom('a', "'", '"', '\\', '$', '(', ')', '`', '%', '#', ':', ' ', '\n', '{', '}', '!', '-', '😀'),
  }),
);

export const hostileTunnel: fc.Arbitrary<ConnectTunnel> = fc.record({
  name: hostileText,
  url: hostileText,
  token: hostileText,
  underpassVersion: hostileText,
});

export const hostileUpstreams: fc.Arbitrary<ConnectUpstreams> = fc.oneof(
  fc.record({
    type: fc.constant('http' as const),
    upstreams: fc.array(fc.record({ domain: hostileText, upstream: hostileText }), { maxLength: 3 }),
  }),
  fc.record({ type: fc.constant('ingress' as const), upstream: hostileText }),
);

export const plainTunnel: ConnectTunnel = {
  name: 'web',
  url: 'https://local.localhost:8443#ca=0123abcd',
  token: 'k3J9-xYz_0123456789abcdefghijklmnopqrstuvwxy',
  underpassVersion: '1.2.3',
};

export const plainHttp: ConnectUpstreams = {
  type: 'http',
  upstreams: [
    { domain: 'example.com', upstream: 'http://127.0.0.1:8080' },
    { domain: 'www.example.com', upstream: 'http://127.0.0.1:8081' },
  ],
};

export const plainIngress: ConnectUpstreams = { type: 'ingress', upstream: '127.0.0.1' };

/** The arguments that must reach the client, whatever the snippet is written for. */
export function expectedArguments(tunnel: ConnectTunnel, upstreams: ConnectUpstreams, tokenFile: string): string[] {
  const values =
    upstreams.type !== 'http'
      ? [upstreams.upstream].flat()
      : upstreams.upstreams.map(({ domain, upstream }) => `${domain}=${upstream}`);
  return [upstreams.type, '--url', tunnel.url, '--token-file', tokenFile, ...values.flatMap((value) => ['--upstream', value])];
}

export interface Shell {
  readonly home: string;
  /** Runs the text as pasted; answers stderr. */
  run(shell: string, text: string): string;
  /** The command lines seen since the last call, of the programs that stand in for the real ones. */
  takeCommandLines(): string[][];
}

/** A home and a PATH of stand-ins that record their command line; all but `real` do nothing else. */
export function createShell(context: TestContext, standIns: Readonly<Record<string, string>>): Shell {
  const home = mkdtempSync(join(tmpdir(), 'underpass-snippet-'));
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const bin = join(home, 'bin');
  const log = join(home, 'log');
  mkdirSync(bin);
  for (const [name, body] of Object.entries(standIns)) {
    const record = `printf '%s\\0' "$#" ${name} "$@" >> '${log}'`;
    writeFileSync(join(bin, name), `#!/bin/sh\n${record}\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const environment = { HOME: home, PATH: `${bin}${delimiter}${process.env.PATH}`, LC_ALL: 'C.UTF-8' };
  return {
    home,
    run: (shell, text) =>
      spawnSync(shell, { input: text, cwd: home, env: environment, encoding: 'utf8', timeout: 30_000 }).stderr,
    takeCommandLines: () => takeCommandLines(log),
  };
}

/** Each line is the number of its arguments, the program, and the arguments, all ended by NUL. */
function takeCommandLines(log: string): string[][] {
  const words = readFileSync(log, 'utf8').split('\0');
  writeFileSync(log, '');
  const lines: string[][] = [];
  for (let at = 0; at < words.length - 1; at += Number(words[at]) + 2)
    lines.push(words.slice(at + 1, at + 2 + Number(words[at])));
  return lines;
}
