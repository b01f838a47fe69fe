// Runs the snippets of the connect section with the compiled CLI: the cli tab in three shells, the systemd tab in a mount
// namespace whose /etc and /usr/local/bin are copies.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { createCli } from '@underpass/client/test-kit.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { startProgram } from '../helpers/process.ts';
import { type Account, type Product, startProduct, tunnelCreated } from '../helpers/product.ts';
import { buildRelease } from '../helpers/release-build.ts';
import { skipWithout } from '../helpers/tool.ts';

const run = promisify(execFile);

let folder: string;
let program: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'underpass-snippets-'));
  await chmod(folder, 0o755);
  const built = buildRelease(join(folder, 'releases'), { ...process.env, UNDERPASS_HOME: join(folder, 'home') });
  await mkdir(join(folder, 'bin'));
  program = join(folder, 'bin', 'underpass');
  await run('cp', [built, program]);
});
after(() => rm(folder, { recursive: true, force: true }));

interface World {
  readonly product: Product;
  readonly account: Account;
  readonly tunnel: Tunnel;
  readonly print: (tab: string) => Promise<string>;
}

async function world(t: TestContext): Promise<World> {
  const product = await startProduct(t);
  const account = await product.signIn();
  const cli = await createCli(t, {
    UNDERPASS_SERVER: product.origin,
    UNDERPASS_API_TOKEN: await product.createApiToken(account),
  });
  await cli.run(['tunnels', 'add', 'shop', '--generate-domain']);
  const tunnel = await tunnelCreated(account, 'shop');
  const upstream = createServer((_, response) => response.end('from the upstream'));
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  const address = upstream.address();
  const place = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const print = async (tab: string) => (await cli.run(['connect', 'shop', '--print', tab, '--upstream', place])).stdout;
  return { product, account, tunnel, print };
}

async function servesPage({ product, tunnel }: World): Promise<void> {
  const { hostname, port } = new URL(tunnel.ingressDomains[0]?.url ?? '');
  const text = await new Promise<string>((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      servername: hostname,
      headers: { host: `${hostname}:${port}` },
      ca: product.caPem,
    };
    request(options, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve(body));
    })
      .on('error', reject)
      .end();
  });
  assert.equal(text, 'from the upstream');
}

/** Ends the children of a shell: killing the shell does not end them. */
function endChildren(pid: number): void {
  const path = `/proc/${pid}/task/${pid}/children`;
  const children = existsSync(path) ? readFileSync(path, 'utf8').trim().split(' ') : [];
  for (const child of children.filter((text) => text !== '')) process.kill(Number(child), 'SIGTERM');
}

for (const shell of ['dash', 'bash', 'zsh'] as const) {
  test(`the snippet of the cli tab connects the tunnel in ${shell}`, {
    skip: shell === 'zsh' && skipWithout('zsh'),
  }, async (t) => {
    const made = await world(t);
    const home = await mkdtemp(join(folder, 'home-'));
    const env = { HOME: home, PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
    const client = startProgram(t, shell, ['-c', await made.print('cli')], env);
    try {
      await client.seen(/ connected /);
      await servesPage(made);
      const { stdout } = await run('find', [home, '-name', '*.token', '-printf', '%m']);
      assert.equal(stdout, '600');
    } finally {
      endChildren(client.pid);
    }
  });
}

/** Runs the snippet with its own /etc and /usr/local/bin, a sudo that only runs its command, and a systemctl that only records its arguments. */
const machine = `
set -e
mkdir "$W/etc" "$W/local" "$W/stub"
# cp may fail if a file of /etc disappears during the copy; the snippet does not need it.
cp -a /etc/. "$W/etc" || true
mount --bind "$W/etc" /etc
mount --bind "$W/local" /usr/local/bin
printf '#!/bin/sh\\nexec "$@"\\n' > "$W/stub/sudo"
printf '#!/bin/sh\\necho "$@" >> "$W/systemctl"\\n' > "$W/stub/systemctl"
chmod +x "$W/stub/sudo" "$W/stub/systemctl"
PATH="$W/stub:$PATH" bash "$W/snippet"
echo "unit: $(systemd-analyze verify /etc/systemd/system/underpass-shop.service 2>&1 | wc -c) bytes of complaints"
echo "token: $(stat -c '%a %u' /etc/underpass/shop.token)"
echo "systemctl: $(tr '\\n' ';' < "$W/systemctl")"
# Start the service as systemd would: copy the token for the service's user, then run ExecStart as that user.
mkdir "$W/credentials"
cp /etc/underpass/shop.token "$W/credentials/token"
chown -R 65534:65534 "$W/credentials"
chmod 500 "$W/credentials"
chmod 400 "$W/credentials/token"
exec python3 - <<'PYTHON'
import os, re, shlex
unit = open('/etc/systemd/system/underpass-shop.service').read().replace('\\\\\\n', ' ')
line = re.search(r'^ExecStart=(.*)$', unit, re.M).group(1)
folder = os.environ['W'] + '/credentials'
words = [w.replace('\${CREDENTIALS_DIRECTORY}', folder).replace('%%', '%').replace('$$', '$') for w in shlex.split(line)]
os.setgroups([]); os.setgid(65534); os.setuid(65534)
os.execve(words[0], words, {'PATH': '/usr/bin:/bin', 'CREDENTIALS_DIRECTORY': folder})
PYTHON
`;

describe('the snippet of the systemd tab', {
  skip: skipWithout('systemd-analyze') || (process.getuid?.() !== 0 && 'needs root for a mount namespace'),
}, () => {
  test('installs a valid unit and a private token, and runs the client as an unprivileged user', async (t) => {
    const made = await world(t);
    const work = await mkdtemp(join(folder, 'machine-'));
    await chmod(work, 0o755);
    await writeFile(join(work, 'snippet'), await made.print('systemd'));
    const env = { W: work, PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
    const client = startProgram(t, 'unshare', ['--mount', 'bash', '-c', machine], env);
    await client.seen(/ connected /);
    await servesPage(made);
    assert.match(client.text(), /^unit: 0 bytes of complaints$/m);
    assert.match(client.text(), /^token: 600 0$/m);
    assert.match(client.text(), /^systemctl: daemon-reload;enable --now underpass-shop\.service;$/m);
    const { stdout } = await run('ps', ['-o', 'uid=,args=', '-p', String(client.pid)]);
    assert.match(stdout, /^ *65534 /);
    assert.equal(stdout.includes(made.tunnel.token ?? '-'), false);
    assert.equal(client.text().includes(made.tunnel.token ?? '-'), false);
  });
});
