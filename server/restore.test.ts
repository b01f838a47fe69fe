// A backup restored on a fresh machine: what still works, with and without the keys.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity.ts';
import { run } from './run.ts';
import { browserAt, carry, dropHome, eventually, makeHome, openServer, signIn, visit } from './test-kit.ts';

async function command(home: string, line: string): Promise<void> {
  let err = '';
  const io = {
    stdout: { write: () => {} },
    stderr: {
      write: (text: string) => {
        err += text;
      },
    },
    env: { UNDERPASS_HOME: home, UNDERPASS_LOG: 'silent' },
    readFile: () => assert.fail('no file is read'),
    readStdin: async () => '',
    now: Date.now,
    onStopSignal: () => () => {},
  };
  assert.equal(await run(line.split(' '), io), 0, err);
}

describe('a restore on a fresh machine', () => {
  let home: string;
  let file: string;
  let cookie: string;
  let tunnel: Tunnel;
  let project: string;
  const homes: string[] = [];
  const freshHome = async (): Promise<string> => {
    const made = await makeHome();
    homes.push(made);
    return made;
  };

  before(async () => {
    home = await freshHome();
    const server = await openServer(home);
    const browser = await signIn(server);
    project = (await browser.read<{ defaultProject: string }>('/api/user')).defaultProject;
    [tunnel] = await browser.read<[Tunnel]>(`/api/tunnels?project=${project}`);
    cookie = browser.cookie;
    file = join(home, 'backup.jsonl');
    // While the server runs, as in life.
    await command(home, `backup ${file}`);
    await server.running.close();
  });
  after(async () => {
    for (const each of homes) await dropHome(each);
  });

  test('with its keys: session, token and name still work, for a client that trusts the old authority', async () => {
    const fresh = await freshHome();
    await command(fresh, `restore ${file}`);
    const server = await openServer(fresh);
    const browser = browserAt(server, cookie);
    const shown = await browser.read<Tunnel>(`/api/tunnels/${tunnel.name}?project=${project}`);
    assert.equal(shown.token, tunnel.token);
    assert.equal(shown.url.split('#')[1], tunnel.url.split('#')[1], 'the pin of the authority');
    const ca = await readFile(join(home, 'ca.pem'), 'utf8');
    const port = server.running.ports.https ?? 0;
    const client = await carry(port, ca, tunnel, 'still here');
    assert.equal(await visit(port, ca, tunnel.ingressDomains[0]?.name ?? ''), 'still here');
    client.close();
    await server.running.close();
  });

  test('without the key: the old token works for a day, the dashboard shows a new one, and certificates are issued again', async () => {
    const fresh = await freshHome();
    await command(fresh, `restore ${file} --without-keys`);
    const server = await openServer(fresh);
    const browser = browserAt(server, cookie);
    const shown = await eventually(
      () => browser.read<Tunnel>(`/api/tunnels/${tunnel.name}?project=${project}`),
      (each) => each.status === 'Created',
    );
    assert.notEqual(shown.token, tunnel.token);
    const ca = await readFile(join(fresh, 'ca.pem'), 'utf8');
    const port = server.running.ports.https ?? 0;
    for (const { token } of [tunnel, shown]) {
      const client = await carry(
        port,
        ca,
        { dataPlaneHost: tunnel.dataPlaneHost, ...(token === undefined ? {} : { token }) },
        'here',
      );
      client.close();
    }
    await server.running.close();
  });
});
