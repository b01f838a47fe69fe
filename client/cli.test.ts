import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { test } from 'node:test';
import { createProcessIo } from './process/process-io.ts';
import { version } from './process/version.ts';
import { binary, createCli } from './test-kit.ts';

const wrong: readonly (readonly [argv: readonly string[], error: string, help: string])[] = [
  [['tunnels', 'add'], "missing required argument 'name'", 'underpass tunnels add --help'],
  [['groups', 'add', 'office'], "required option '--allow <address>' not specified", 'underpass groups add --help'],
  [['http', '--bogus'], "unknown option '--bogus'", 'underpass http --help'],
  [['tunel'], "unknown command 'tunel' (Did you mean tunnels?)", 'underpass --help'],
  [['help', 'tunnels', 'ad'], "unknown command 'ad' (Did you mean add?)", 'underpass tunnels --help'],
  [['tunnels', 'frobnicate'], "unknown command 'frobnicate'", 'underpass tunnels --help'],
];
for (const [argv, error, help] of wrong) {
  test(`'${argv.join(' ')}' gives one line of error that names the help to read`, async (t) => {
    const { code, stderr } = await (await createCli(t)).run(argv);
    assert.equal(code, 2);
    assert.equal(stderr, `error: The command line is wrong: ${error}\n  fix: See "${help}".\n  code: usage\n`);
  });
}

const elsewhere: readonly (readonly [argv: readonly string[], fix: RegExp])[] = [
  [['http', '3000', '--host-header', 'x'], /Use --upstream-host/],
  [['authtoken', 'x'], /Run "underpass login"/],
  [['tunnels', 'remove', 'shop'], /Use rm/],
  [['--json', 'tunnels', 'list'], /Put --json after the command/],
];
for (const [argv, fix] of elsewhere) {
  test(`'${argv.join(' ')}', as other programs have it, points to what does the same here`, async (t) => {
    const { code, stderr } = await (await createCli(t)).run(argv);
    assert.equal(code, 2);
    assert.match(stderr, fix);
  });
}

test('version, --version, -v and -V print the version', async (t) => {
  const cli = await createCli(t);
  for (const argv of [['version'], ['--version'], ['-v'], ['-V']]) {
    assert.deepEqual(await cli.run(argv), { code: 0, stdout: `${version}\n`, stderr: '' });
  }
});

test('help with any number of words shows the same as --help of these words', async (t) => {
  const cli = await createCli(t);
  for (const words of [[], ['http'], ['tunnels'], ['tunnels', 'add'], ['tunnels', 'add', 'shop']]) {
    const { stdout, code } = await cli.run(['help', ...words]);
    assert.equal(code, 0);
    assert.match(stdout, /^Usage: /);
    assert.equal(stdout, (await cli.run([...words, '--help'])).stdout);
  }
});

test('runs for a user id without name and home, as in some containers, and in a deleted folder', {
  skip: binary && 'the system is made up',
}, (t) => {
  const nobody = () => {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
  };
  const mocks = [
    t.mock.method(os, 'homedir', nobody),
    t.mock.method(os, 'userInfo', nobody),
    t.mock.method(process, 'cwd', nobody),
  ];
  syncBuiltinESMExports();
  t.after(() => {
    for (const { mock } of mocks) mock.restore();
    syncBuiltinESMExports();
  });
  const { home, userName, cwd } = createProcessIo({});
  assert.deepEqual({ home, userName, cwd }, { home: '/', userName: String(process.getuid?.()), cwd: '/' });
});

for (const columns of [40, 60, 100]) {
  test(`help breaks no word at ${columns} columns`, { skip: binary && 'the terminal is made up' }, async (t) => {
    let text = '';
    const write = (part: string) => {
      text += part;
    };
    const stdout = { write, isTTY: true, columns: () => columns, rows: () => 24, onResize: () => () => {} };
    const cli = await createCli(t);
    for (const argv of [['--help'], ['tunnels', 'add', '--help'], ['connect', '--help']]) await cli.run(argv, { io: { stdout } });
    // Usage and examples are not wrapped, so that they can be copied.
    const lines = text.split('\n').filter((line) => !/^Usage:|^ {2}\$ /.test(line));
    assert.deepEqual(
      lines.filter((line) => line.length > columns),
      [],
    );
  });
}
