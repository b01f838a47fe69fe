// A tcp tunnel from its form to its visitors: the dashboard, the quick tunnel of the command line, the doctor, and the upgrade of
// nothing at all where the region has no range.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import { createCli } from '@underpass/client/test-kit.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { expect } from '../helpers/browser.ts';
import { openStage, projectUrl } from '../helpers/dashboard.ts';
import { freePorts } from '../helpers/port.ts';
import { checkScreen } from '../helpers/screens.ts';

const panel = (page: Page) => page.getByRole('dialog', { name: 'New Tunnel' });

/** A service that speaks first. */
async function startService(t: TestContext): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write('220 ready\r\n');
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** The edge opens the port, and closes it, a moment after the tunnel is there, or gone. */
const greets = (port: number): Promise<string> =>
  eventually(
    () => greeting(port).catch(String),
    (text) => text === '220 ready\r\n',
  );

async function greeting(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {});
  const [first] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [''])]);
  socket.destroy();
  return String(first);
}

test('a tcp tunnel', async (t) => {
  const [port = 0] = await freePorts(1);
  const stage = await openStage(t, { UNDERPASS_TCP_PORTS: `${port}-${port}` });
  const { account, product } = stage;
  const service = await startService(t);

  await t.test('is made by the form, which asks for no domain, and its page shows where visitors connect', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await page.getByRole('button', { name: 'Add Tunnel' }).first().click();
    await panel(page).getByLabel('Name', { exact: true }).fill('database');
    await expect(panel(page).getByText('Ingress domains', { exact: true })).toBeVisible();
    await panel(page).getByRole('radio', { name: 'TCP' }).click();
    await expect(panel(page).getByText('A public port for any TCP service.')).toBeVisible();
    await expect(panel(page).getByText('Ingress domains', { exact: true })).toBeHidden();
    await panel(page).getByRole('button', { name: 'Create' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels/database'));
    await expect(page.getByText(`tcp://local.localhost:${port}`)).toBeVisible();
    await expect(page.getByText('Connect a tunnel client.')).toBeVisible();
    await expect(page.getByText('Domains verified')).toBeHidden();
    await expect(page.getByText(/gets it for 7 days after the tunnel is deleted/)).toBeVisible();
    for (const tab of ['CLI', 'systemd', 'Kubernetes YAML']) {
      await page.getByRole('tab', { name: tab }).click();
      await expect(
        page
          .getByRole('region', { name: `${tab} snippet` })
          .or(page.getByLabel(`${tab} snippet`))
          .first(),
      ).toContainText('tcp');
    }
    await page.getByRole('link', { name: 'Tunnels', exact: true }).first().click();
    await expect(page.getByText(`local.localhost:${port}`)).toBeVisible();
  });

  await t.test('may be private instead: its page shows how to reach it, and gives tickets once', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await page.getByRole('button', { name: 'Add Tunnel' }).first().click();
    await panel(page).getByLabel('Name', { exact: true }).fill('secret');
    await panel(page).getByRole('radio', { name: 'TCP' }).click();
    await expect(panel(page).getByRole('radio', { name: 'Public port Anyone' })).toBeChecked();
    await panel(page).getByRole('radio', { name: 'Private' }).click();
    await panel(page).getByRole('button', { name: 'Create' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels/secret'));
    await expect(page.getByText(/underpass reach .*secret.* --listen 127\.0\.0\.1:5432/)).toBeVisible();
    await expect(
      page
        .getByLabel('CLI snippet')
        .or(page.getByRole('region', { name: 'CLI snippet' }))
        .first(),
    ).toContainText('--private');
    await page.getByRole('button', { name: 'Create ticket' }).click();
    const creating = page.getByRole('dialog', { name: 'Create ticket' });
    await creating.getByLabel('Name', { exact: true }).fill('laptop');
    await creating.getByRole('button', { name: 'Create' }).click();
    await expect(page.getByRole('status', { name: 'Ticket' })).toContainText(/^reach_/);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Revoke laptop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await expect(page.getByText('No tickets.')).toBeVisible();
    await page.close();
    await account.call('DELETE', `/api/tunnels/secret?project=${account.project}`);
  });

  await t.test('the screens of a private one have no accessibility problem and fit every window', async (t) => {
    const query = `?project=${account.project}`;
    const payload = { name: 'inner', region: 'local', type: 'tcp', ingressDomains: [], proxyProtocol: '', private: true };
    await account.call('POST', `/api/tunnels${query}`, payload);
    await account.call('POST', `/api/tunnels/inner/tickets${query}`, { name: 'laptop' });
    const path = projectUrl(account, 'tunnels/inner');
    const openNew = async (page: Page) => {
      await page.getByRole('button', { name: 'Create ticket' }).click();
      await expect(page.getByRole('dialog', { name: 'Create ticket' })).toBeVisible();
    };
    const choosePrivate = async (page: Page) => {
      await panel(page).getByRole('radio', { name: 'TCP' }).click();
      await panel(page).getByRole('radio', { name: 'Private' }).click();
    };
    await checkScreen(t, stage, {
      name: 'private-tunnel',
      path,
      ready: (page) => expect(page.getByText('laptop')).toBeVisible(),
    });
    await checkScreen(t, stage, { name: 'private-tunnel-ticket', path, ready: openNew });
    await checkScreen(t, stage, { name: 'new-private-tunnel', path: projectUrl(account, 'tunnels?new'), ready: choosePrivate });
    await account.call('DELETE', `/api/tunnels/inner${query}`);
  });

  await t.test('carries a service that speaks first, and the doctor knows it', async (t) => {
    const token = await product.createApiToken(account);
    const cli = await createCli(t, { UNDERPASS_SERVER: product.origin, UNDERPASS_API_TOKEN: token });
    const running = cli.start(['connect', 'database', '--upstream', `127.0.0.1:${service}`]);
    await running.seen(/connected/);
    await greets(port);
    const doctor = await cli.run(['doctor', 'database', '--upstream', `127.0.0.1:${service}`]);
    assert.match(doctor.stdout, /port TCP/);
    assert.match(doctor.stdout, /database is a tcp tunnel/);
    assert.match(doctor.stdout, /accepts connections/);
    assert.match((await cli.run(['tunnels', 'show', 'database'])).stdout, new RegExp(`tcp://local\\.localhost:${port}`));
    running.signal('SIGTERM');
    await running.ended;
  });

  await t.test('says at its end for how long the port rests; a quick one gets it then by the same name alone', async (t) => {
    const page = await stage.open(t, 'tunnels/database');
    await page.getByRole('button', { name: 'Tunnel actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await expect(page.getByText(`No other project gets port ${port} for 7 days.`)).toBeVisible();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels'));
    await eventually(
      () => greeting(port).catch(({ code }: NodeJS.ErrnoException) => code),
      (code) => code === 'ECONNREFUSED',
    );

    const token = await product.createApiToken(account);
    const cli = await createCli(t, { UNDERPASS_SERVER: product.origin, UNDERPASS_API_TOKEN: token });
    const quick = cli.start(['tcp', String(service)]);
    await quick.seen(/connected/);
    assert.match(quick.stdout() + quick.stderr(), new RegExp(`tcp://local\\.localhost:${port}`));
    await greets(port);
    const { body } = await account.call<readonly Tunnel[]>('GET', `/api/tunnels?project=${account.project}`);
    assert.deepEqual(
      body.map(({ type, port: own }) => [type, own]),
      [['tcp', port]],
    );
    quick.signal('SIGTERM');
    await quick.ended;
    const { body: left } = await account.call<readonly Tunnel[]>('GET', `/api/tunnels?project=${account.project}`);
    assert.deepEqual(left, []);
  });
});

test('a region without a range shows no third type', async (t) => {
  const stage = await openStage(t);
  const page = await stage.open(t, 'tunnels');
  await page.getByRole('button', { name: 'Add Tunnel' }).first().click();
  await expect(panel(page).getByRole('radio', { name: 'Ingress' })).toBeVisible();
  await expect(panel(page).getByRole('radio', { name: 'TCP' })).toBeHidden();
});
