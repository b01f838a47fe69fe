import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { skipWithout } from '../../tests/helpers/tool.ts';
import { eachCase } from '../test-kit.ts';
import { renderCliSnippet } from './cli-snippet.ts';
import { resourceName } from './resource-name.ts';
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

/** Arguments cannot hold NUL. */
const withoutNul = (words: readonly string[]) => words.map((word) => word.replaceAll('\0', ''));
const standIns = { underpass: '', touch: '', cat: 'exec /bin/cat "$@"', rm: 'exec /bin/rm "$@"', mkdir: 'exec /bin/mkdir "$@"' };

function tokenFileOf(shell: Shell, name: string): string {
  return join(shell.home, '.config/underpass', `${resourceName(name)}.token`);
}

/** Pastes the snippet, then checks what ran and that nothing else did. */
function checkPaste(shell: Shell, program: string, tunnel: typeof plainTunnel, upstreams: typeof plainHttp): void {
  const { text } = renderCliSnippet(tunnel, upstreams);
  assert.equal(shell.run(program, text), '');
  const tokenFile = tokenFileOf(shell, tunnel.name);
  const lines = shell.takeCommandLines();
  assert.deepEqual(lines.at(-1), ['underpass', ...withoutNul(expectedArguments(tunnel, upstreams, tokenFile))]);
  assert.deepEqual(
    lines.map(([name]) => name),
    ['mkdir', 'rm', 'cat', 'underpass'],
  );
  const token = tunnel.token.replaceAll('\0', '');
  assert.equal(readFileSync(tokenFile, 'utf8'), token.endsWith('\n') ? token : `${token}\n`);
  assert.equal(statSync(tokenFile).mode & 0o777, 0o600);
  assert.equal(existsSync(join(shell.home, 'pwned')), false);
}

test('the snippet of an http tunnel reads as a person would write it', () => {
  assert.equal(
    renderCliSnippet(plainTunnel, plainHttp).text,
    `mkdir -p ~/.config/underpass
(umask 077; rm -f ~/.config/underpass/web.token; cat > ~/.config/underpass/web.token) <<'TOKEN'
k3J9-xYz_0123456789abcdefghijklmnopqrstuvwxy
TOKEN
underpass http \\
  --url 'https://local.localhost:8443#ca=0123abcd' \\
  --token-file ~/.config/underpass/web.token \\
  --upstream example.com=http://127.0.0.1:8080 \\
  --upstream www.example.com=http://127.0.0.1:8081
`,
  );
});

for (const program of ['sh', 'bash', 'zsh']) {
  const skip = program === 'zsh' ? skipWithout('zsh') : false;

  test(`pasted into ${program}, the client gets exactly these arguments and the token stays out of every command line`, {
    skip,
  }, (t) => {
    const shell = createShell(t, standIns);
    for (const upstreams of [plainHttp, plainIngress]) {
      const { text } = renderCliSnippet(plainTunnel, upstreams);
      shell.run(program, text);
      const lines = shell.takeCommandLines();
      assert.deepEqual(lines.at(-1), ['underpass', ...expectedArguments(plainTunnel, upstreams, tokenFileOf(shell, 'web'))]);
      assert.equal(JSON.stringify(lines).includes(plainTunnel.token), false);
    }
  });

  test(`pasted into ${program}, hostile values in every input stay plain values`, { skip }, (t) => {
    const shell = createShell(t, standIns);
    eachCase(t, hostileValues, (value) => {
      const tunnel = { name: value, url: value, token: value, underpassVersion: value };
      checkPaste(shell, program, tunnel, { type: 'http', upstreams: [{ domain: value, upstream: value }] });
    });
  });

  test(`pasted into ${program}, random hostile inputs do nothing but start the client`, { skip }, (t) => {
    const shell = createShell(t, standIns);
    fc.assert(
      fc.property(hostileTunnel, hostileUpstreams, (tunnel, upstreams) => checkPaste(shell, program, tunnel, upstreams)),
      { numRuns: 30 },
    );
  });
}

test('a token file that others can read is replaced by a private one', (t) => {
  const shell = createShell(t, standIns);
  const tokenFile = tokenFileOf(shell, 'web');
  mkdirSync(join(shell.home, '.config/underpass'), { recursive: true });
  writeFileSync(tokenFile, 'old', { mode: 0o644 });
  checkPaste(shell, 'sh', plainTunnel, plainHttp);
});
