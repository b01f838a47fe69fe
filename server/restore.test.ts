// A backup restored on a fresh machine: what still works, with and without the keys.

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createRoot, issueLeaf } from '@underpass/control/edges/certificate/x509.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { run } from './cli.ts';
import type { ServerError } from './process/error.ts';
import { browserAt, carry, dropHome, makeHome, openServer, signIn, visit } from './test-kit.ts';

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

  test("keeps its region: a start without the region's settings is refused, and names them with their values", async () => {
    const fresh = await freshHome();
    const settings = {
      UNDERPASS_REGION: 'eu',
      UNDERPASS_REGION_DESCRIPTION: 'Europe',
      UNDERPASS_DATA_PLANE_HOST: 'eu.example.com',
      UNDERPASS_WILDCARD_DOMAIN: 'tunnels.example.com',
    };
    const server = await openServer(fresh, settings);
    await server.running.close();
    const { UNDERPASS_REGION, ...values } = settings;
    await assert.rejects(openServer(fresh, { UNDERPASS_REGION }), ({ code, message }: ServerError) => {
      assert.equal(code, 'settings-refused');
      for (const [name, value] of Object.entries(values)) assert.ok(message.includes(`${name}="${value}"`), message);
      return true;
    });
    // Explicit defaults are meant.
    await assert.rejects(
      openServer(fresh, { ...settings, UNDERPASS_DATA_PLANE_HOST: '' }),
      /_DATA_PLANE_HOST="eu\.example\.com"$/,
    );
    const other = await openServer(fresh, { ...settings, UNDERPASS_DATA_PLANE_HOST: 'local.localhost' });
    await other.running.close();
  });

  test('serves a given certificate in place of the one that it issued before, and clients pin nothing', async () => {
    const fresh = await freshHome();
    await command(fresh, `restore ${file}`);
    const folder = join(fresh, 'certificates');
    const life = { notBefore: new Date(Date.now() - 1_000), notAfter: new Date(Date.now() + 86_400_000) };
    const root = await createRoot('given', life);
    const leaf = await issueLeaf(root, [tunnel.dataPlaneHost], life);
    await mkdir(folder);
    await writeFile(join(folder, 'host.crt'), leaf.certificatePem);
    await writeFile(join(folder, 'host.key'), leaf.privateKeyPem);
    const server = await openServer(fresh, { UNDERPASS_CERTIFICATES: folder });
    const shown = await browserAt(server, cookie).read<Tunnel>(`/api/tunnels/${tunnel.name}?project=${project}`);
    assert.ok(!shown.url.includes('#'), shown.url);
    const client = await carry(server.running.ports.https ?? 0, root.certificatePem, tunnel, 'given');
    client.close();
    await server.running.close();
  });
});
