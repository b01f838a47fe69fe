import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { requireTool, skipWithout } from '../../tests/helpers/tool.ts';
import { eachCase } from '../test-kit.ts';
import type { ConnectTunnel, ConnectUpstreams } from './command.ts';
import { defaultUnitPaths, renderSystemdSnippet, renderUnit, unitName } from './systemd-snippet.ts';
import {
  createShell,
  expectedArguments,
  hostileTunnel,
  hostileUpstreams,
  hostileValues,
  plainHttp,
  plainIngress,
  plainTunnel,
  type Shell,
} from './test-kit.ts';

const skip = skipWithout('systemd-analyze');
const paths = { binary: '/bin/true', tokenFile: '/etc/underpass/web.token' };
const credential = '${CREDENTIALS_DIRECTORY}/token';

interface Given {
  readonly tunnel: ConnectTunnel;
  readonly upstreams: ConnectUpstreams;
}

const analyze = (files: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  spawnSync(requireTool('systemd-analyze'), ['--man=no', 'verify', ...files], {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });

/** What systemd itself makes of each ExecStart=, by unit, from the dump that it writes while debugging. */
function dumpedCommands(files: readonly string[]): Map<string, string[]> {
  const { stdout } = analyze(files, { SYSTEMD_LOG_LEVEL: 'debug' });
  const commands = new Map<string, string[]>();
  for (const block of stdout.split(/^\s*-> Unit /m)) {
    const line = /^\s*Command Line: ([^\n]*)$/m.exec(block);
    if (line !== null) commands.set(block.slice(0, block.indexOf(':')), splitDumped(line[1]!));
  }
  return commands;
}

/** The dump quotes for a shell: words apart by spaces, in double quotes where needed, escapes inside. */
function splitDumped(line: string): string[] {
  const words = [...line.matchAll(/"((?:\\.|[^"\\])*)"|[^ ]+/g)];
  return words.map(([word, quoted]) => (quoted === undefined ? word : unescapeDumped(quoted)));
}

const letters: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

function unescapeDumped(text: string): string {
  return text.replace(/\\(?:([0-7]{3})|(.))/g, (_, octal?: string, letter?: string) =>
    octal === undefined ? (letters[letter!] ?? letter!) : String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** All units in one run of systemd-analyze, which takes as long for a hundred as for one. */
function verify(t: TestContext, all: readonly Given[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-unit-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const files = all.map((_, index) => join(folder, `underpass-${index}.service`));
  for (const [index, { tunnel, upstreams }] of all.entries()) writeFileSync(files[index]!, renderUnit(tunnel, upstreams, paths));
  const { stderr, status } = analyze(files);
  assert.equal(stderr, '');
  assert.equal(status, 0);
  const commands = dumpedCommands(files);
  eachCase(t, [...all.entries()], ([index, { tunnel, upstreams }]) => {
    // `$$` becomes one dollar sign only when the process is started.
    const found = commands.get(`underpass-${index}.service`)?.map((word) => word.replaceAll('$$', '$'));
    const expected = expectedArguments(tunnel, upstreams, credential).map((word) => word.replaceAll('\0', ''));
    assert.deepEqual(found, [paths.binary, ...expected]);
  });
}

test('the unit restarts after 5 s, for ever, as a user of its own, and its token is a credential', () => {
  const unit = renderUnit(plainTunnel, plainHttp, defaultUnitPaths('web'));
  for (const line of ['Restart=always', 'RestartSec=5', 'StartLimitIntervalSec=0', 'DynamicUser=yes', 'NoNewPrivileges=yes']) {
    assert.ok(unit.split('\n').includes(line), line);
  }
  assert.ok(unit.includes('LoadCredential=token:/etc/underpass/web.token\n'));
  assert.equal(unit.includes(plainTunnel.token), false);
});

test('the unit of a private tunnel says so, and its key outlasts the process', { skip }, (t) => {
  const tunnel = { ...plainTunnel, isPrivate: true };
  const upstreams: ConnectUpstreams = { type: 'tcp', upstream: '127.0.0.1:5432' };
  assert.match(renderUnit(tunnel, upstreams, paths), /^StateDirectory=underpass-web$/m);
  assert.doesNotMatch(renderUnit(plainTunnel, upstreams, paths), /StateDirectory|--private|--key-file/);
  const folder = mkdtempSync(join(tmpdir(), 'underpass-unit-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'underpass-private.service');
  writeFileSync(file, renderUnit(tunnel, upstreams, paths));
  const { stderr, status } = analyze([file]);
  assert.deepEqual([stderr, status], ['', 0]);
  const words = dumpedCommands([file]).get('underpass-private.service') ?? [];
  assert.ok(words.includes('--private'), words.join(' '));
  assert.equal(words[words.indexOf('--key-file') + 1], '${STATE_DIRECTORY}/reach.pem');
});

test('systemd finds nothing to say about the unit, and reads back the arguments', { skip }, (t) => {
  verify(t, [
    { tunnel: plainTunnel, upstreams: plainHttp },
    { tunnel: plainTunnel, upstreams: plainIngress },
    { tunnel: plainTunnel, upstreams: { type: 'ingress', upstream: ['80=127.0.0.1:8080', '443=[::1]:9443'] } },
  ]);
});

test('systemd reads hostile values in every input back as they are', { skip }, (t) => {
  const units = hostileValues.flatMap((value): Given[] => {
    const tunnel = { name: value, url: value, token: value, underpassVersion: value };
    return [
      { tunnel, upstreams: { type: 'http', upstreams: [{ domain: value, upstream: value }] } },
      { tunnel, upstreams: { type: 'ingress', upstream: value } },
    ];
  });
  verify(t, units);
});

test('systemd reads random hostile inputs back as they are', { skip }, (t) => {
  const units = fc.array(fc.record({ tunnel: hostileTunnel, upstreams: hostileUpstreams }), { minLength: 50, maxLength: 50 });
  fc.assert(
    fc.property(units, (all) => verify(t, all)),
    { numRuns: 6 },
  );
});

/** sudo as a stand-in: takes what a here-document hands it, and does nothing. */
const standIns = { sudo: 'case "$1" in sh|tee) cat > /dev/null;; esac', touch: '' };

/** Puts a released client on the PATH, as far as its first bytes tell. */
const addProgram = (shell: Shell): void => writeFileSync(join(shell.home, 'bin/underpass'), '\x7fELF', { mode: 0o755 });

/** /etc and /usr/local as folders of the shell's home. */
const inside = (shell: Shell, text: string): string =>
  text
    .replaceAll(/\/etc\/(?=underpass|systemd)/g, `${shell.home}/`)
    .replaceAll('/systemd/system', '')
    .replaceAll('/usr/local/bin', `${shell.home}/local`);

test('pasted into a shell, the snippet hands the token and the unit to root only by stdin', (t) => {
  const shell = createShell(t, standIns);
  addProgram(shell);
  const { text } = renderSystemdSnippet(plainTunnel, plainHttp);
  assert.equal(shell.run('sh', text.replaceAll('/usr/local/bin', `${shell.home}/local`)), '');
  const lines = shell.takeCommandLines();
  assert.equal(JSON.stringify(lines).includes(plainTunnel.token), false);
  assert.deepEqual(
    lines.map((line) => line.join(' ')),
    [
      `sudo install -m 0755 ${shell.home}/bin/underpass ${shell.home}/local/underpass`,
      'sudo mkdir -p /etc/underpass',
      'sudo sh -c umask 077; rm -f /etc/underpass/web.token; cat > /etc/underpass/web.token',
      'sudo tee /etc/systemd/system/underpass-web.service',
      'sudo systemctl daemon-reload',
      'sudo systemctl enable --now underpass-web.service',
    ],
  );
});

const withoutProgram: readonly (readonly [string, (shell: Shell) => void])[] = [
  ['what a clone puts on the PATH', (shell) => writeFileSync(join(shell.home, 'bin/underpass'), '#!/bin/sh\n', { mode: 0o755 })],
  ['no client at all', (shell) => rmSync(join(shell.home, 'bin/underpass'), { force: true })],
];

for (const program of ['sh', 'bash', 'zsh']) {
  const skip = program === 'zsh' ? skipWithout('zsh') : false;

  test(`pasted into ${program} without a released client, one line says so, nothing changes, and the shell goes on`, {
    skip,
  }, (t) => {
    eachCase(t, withoutProgram, ([, prepare]) => {
      const shell = createShell(t, { ...standIns, next: '' });
      prepare(shell);
      const text = inside(shell, renderSystemdSnippet(plainTunnel, plainHttp).text);
      assert.match(shell.run(program, `${text}next\n`), /^No released underpass on the PATH: [^\n]+\n$/);
      assert.deepEqual(shell.takeCommandLines(), [['next']]);
    });
  });
}

test('a client that is already installed is not replaced', (t) => {
  const shell = createShell(t, standIns);
  mkdirSync(join(shell.home, 'local'));
  writeFileSync(join(shell.home, 'local/underpass'), '#!/bin/sh\n', { mode: 0o755 });
  assert.equal(shell.run('sh', inside(shell, renderSystemdSnippet(plainTunnel, plainHttp).text)), '');
  assert.deepEqual(shell.takeCommandLines()[0]?.slice(0, 2), ['sudo', 'mkdir']);
});

test('the sections are the whole text, and the middle one is the unit', (t) => {
  eachCase(t, hostileValues, (value) => {
    const tunnel = { name: value, url: value, token: value, underpassVersion: value };
    const upstreams = { type: 'ingress', upstream: value } as const;
    const { text, sections } = renderSystemdSnippet(tunnel, upstreams);
    assert.equal(sections.map((section) => section.text).join(''), text);
    assert.deepEqual(
      sections.map((section) => section.language),
      ['shellscript', 'systemd', 'shellscript'],
    );
    assert.equal(sections[1]!.text, renderUnit(tunnel, upstreams, defaultUnitPaths(value)));
  });
});

/** sudo that runs the command, for snippets whose folders were changed to ones below the home. */
const obedient = { sudo: 'exec "$@"', systemctl: '', install: '', touch: '' };

test('pasted with hostile inputs, root writes exactly the token and the unit', (t) => {
  const shell = createShell(t, obedient);
  addProgram(shell);
  eachCase(t, hostileValues, (value) => {
    const tunnel = { ...plainTunnel, name: value, url: value, token: value };
    const upstreams = { type: 'ingress', upstream: value } as const;
    const { text, sections } = renderSystemdSnippet(tunnel, upstreams);
    assert.equal(shell.run('sh', inside(shell, text)), '');
    const { tokenFile } = defaultUnitPaths(value);
    const token = value.replaceAll('\0', '');
    assert.equal(readFileSync(inside(shell, tokenFile), 'utf8'), token.endsWith('\n') ? token : `${token}\n`);
    assert.equal(statSync(inside(shell, tokenFile)).mode & 0o777, 0o600);
    assert.equal(readFileSync(join(shell.home, unitName(value)), 'utf8'), inside(shell, sections[1]!.text));
    assert.ok(shell.takeCommandLines().every(([name]) => name !== 'touch'));
  });
});
