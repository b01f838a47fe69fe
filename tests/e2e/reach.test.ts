// A private tunnel on the whole product: its client carries it, members and holders of tickets reach it, and nobody else does.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Cli, createCli } from '@underpass/client/test-kit.ts';
import type { Member, NewApiToken, NewReachTicket, ReachTicket } from '@underpass/rules/entity/resource.ts';
import { linkIn, waitForMail } from '../helpers/mail.ts';
import { createPerson } from '../helpers/people.ts';
import { type Account, createApiToken, type Product, startProduct } from '../helpers/product.ts';

interface World {
  readonly product: Product;
  readonly account: Account;
  /** The machine that carries the tunnel, and one that has only tickets. */
  readonly carrier: Cli;
  readonly stranger: Cli;
  readonly running: ReturnType<Cli['start']>;
  /** Starts the client again. */
  readonly restart: () => ReturnType<Cli['start']>;
}

/** Says first who it is, then echoes; ends its side when the visitor has. */
function echo(socket: Socket): void {
  socket.on('error', () => {}).write('ready\n');
  socket.pipe(socket);
}

async function world(t: TestContext, more: readonly string[] = []): Promise<World> {
  const product = await startProduct(t);
  const account = await product.signIn();
  const env = { UNDERPASS_SERVER: product.origin, UNDERPASS_API_TOKEN: await product.createApiToken(account, 'member') };
  const carrier = await createCli(t, env);
  const made = await carrier.run(['tunnels', 'add', 'database', '--type', 'tcp', '--private']);
  assert.equal(made.code, 0, made.stderr);
  const service = createServer({ allowHalfOpen: true }, echo).listen(0, '127.0.0.1');
  await once(service, 'listening');
  const { port } = service.address() as AddressInfo;
  const restart = () => {
    const running = carrier.start(['connect', 'database', '--upstream', `127.0.0.1:${port}`, ...more]);
    t.after(async () => {
      running.signal('SIGTERM');
      await running.ended;
    });
    return running;
  };
  t.after(() => service.close());
  const running = restart();
  await running.seen(/ connected /);
  return { product, account, carrier, stranger: await createCli(t), running, restart };
}

async function listen(t: TestContext, cli: Cli, argv: readonly string[]) {
  const running = cli.start(['reach', ...argv]);
  await running.seen(/ is at 127\.0\.0\.1:\d+/);
  t.after(async () => {
    running.signal('SIGTERM');
    assert.equal((await running.ended).code, 0);
  });
  const port = Number(/ is at 127\.0\.0\.1:(\d+)/.exec(running.stdout())?.[1]);
  const dial = (): Socket => connect({ host: '127.0.0.1', port, allowHalfOpen: true }).on('error', () => {});
  return { running, dial };
}

/** Empty: it was reset. */
const answers = (socket: Socket): Promise<string> =>
  new Promise((resolve) => socket.once('data', (first) => resolve(String(first))).once('close', () => resolve('')));

/** Resolves after a reset too, which is an error first. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once('close', () => resolve()));

async function ticketFile({ carrier }: World, cli: Cli, ...more: string[]): Promise<string> {
  const { stdout, stderr, code } = await carrier.run(['tickets', 'add', 'database', 'laptop', ...more]);
  assert.equal(code, 0, stderr);
  const path = join(cli.home, 'ticket');
  await writeFile(path, stdout, { mode: 0o600 });
  return path;
}

test('a member reaches the service, which speaks first, echoes, and is told of an end', async (t) => {
  const { carrier } = await world(t);
  const { dial, running } = await listen(t, carrier, ['database']);
  const socket = dial();
  assert.equal(await answers(socket), 'ready\n');
  socket.end('all of it');
  assert.equal(Buffer.concat(await socket.toArray()).toString(), 'all of it');
  assert.match(running.stderr(), /First connection to .*database: its key is trusted from now on/);
});

test('a ticket made beside the client reaches it without a sign-in, by standard input too, until it is deleted', async (t) => {
  const all = await world(t, ['--tickets-only']);
  const { account, stranger, carrier } = all;
  const file = await ticketFile(all, stranger, '--days', '1');
  const piped = await stranger.run(['reach', '--ticket-file', file, '--stdio'], { stdin: 'through' });
  assert.deepEqual([piped.code, piped.stderr, piped.stdout], [0, '', 'ready\nthrough']);
  const { dial, running } = await listen(t, stranger, ['--ticket-file', file]);
  const open = dial();
  assert.equal(await answers(open), 'ready\n');
  const path = `/api/tunnels/database/tickets?project=${account.project}`;
  const { body: tickets } = await account.call<readonly ReachTicket[]>('GET', path);
  assert.deepEqual(
    tickets.map(({ name }) => name),
    ['laptop'],
  );
  await carrier.run(['tickets', 'rm', 'database', tickets[0]!.id, '--yes']);
  await closed(open);
  const later = dial();
  assert.equal(await answers(later), '');
  assert.match(running.stderr(), /the ticket was revoked or has ended/);
  const member = await listen(t, carrier, ['database']);
  assert.equal(await answers(member.dial()), '');
  assert.match(member.running.stderr(), /admits only tickets that were made with its key/);
});

test('a ticket of the dashboard reaches a client that takes members, and a tunnel that is deleted cuts everybody', async (t) => {
  const all = await world(t);
  const { account, carrier, stranger } = all;
  const path = `/api/tunnels/database/tickets?project=${account.project}`;
  const { body } = await account.call<NewReachTicket>('POST', path, { name: 'ci' });
  const { dial } = await listen(t, stranger, [body.ticket]);
  assert.equal(await answers(dial()), 'ready\n');
  const member = await listen(t, carrier, ['database']);
  const open = member.dial();
  assert.equal(await answers(open), 'ready\n');
  await account.call('DELETE', `/api/tunnels/database?project=${account.project}`);
  await closed(open);
});

test('a member who is removed from the project is cut, and is not let in again', { timeout: 60_000 }, async (t) => {
  const { product, account } = await world(t);
  const email = 'ann@example.com';
  const guest = await createPerson(product, email);
  await account.call('POST', `/api/invitations?project=${account.project}`, { email, role: 'admin' });
  const link = linkIn(await waitForMail(product, email, /Join a project/));
  await guest.call('POST', '/api/invitations/accept', { token: link.pathname.split('/').at(-1) });
  const token = await createApiToken({ ...guest, project: account.project }, 'member');
  const cli = await createCli(t, { UNDERPASS_SERVER: product.origin, UNDERPASS_API_TOKEN: token });
  const { dial, running } = await listen(t, cli, ['database']);
  const open = dial();
  assert.equal(await answers(open), 'ready\n');
  const { body } = await account.call<readonly Member[]>('GET', `/api/members?project=${account.project}`);
  const { id } = body.find((member) => member.email === email)!;
  const { status } = await account.call('DELETE', `/api/members/${id}?project=${account.project}`);
  assert.equal(status, 204);
  await closed(open);
  assert.equal(await answers(dial()), '');
  assert.match(running.stderr(), /refuses the token/);
});

test('a token that is deleted cuts what it opened, and nothing else', { timeout: 60_000 }, async (t) => {
  const { product, account, carrier } = await world(t);
  const name = 'of another machine';
  const path = (id = '') => `/api/tokens${id}?project=${account.project}`;
  const { body } = await account.call<NewApiToken>('POST', path(), { name, role: 'member' });
  const cli = await createCli(t, { UNDERPASS_SERVER: product.origin, UNDERPASS_API_TOKEN: body.token });
  const [others, own] = [(await listen(t, carrier, ['database'])).dial(), await listen(t, cli, ['database'])];
  const open = own.dial();
  for (const socket of [others, open]) assert.equal(await answers(socket), 'ready\n');
  assert.equal((await account.call('DELETE', path(`/${body.id}`))).status, 204);
  await closed(open);
  assert.equal(await answers(own.dial()), '', 'its last pass is over too');
  others.write('still here');
  assert.equal(await answers(others), 'still here');
});

test('a new connection waits for a client that starts again', { timeout: 60_000 }, async (t) => {
  const { carrier, running, restart } = await world(t);
  const { dial, running: reaching } = await listen(t, carrier, ['database']);
  assert.equal(await answers(dial()), 'ready\n');
  running.signal('SIGTERM');
  await running.ended;
  const waiting = answers(dial());
  restart();
  assert.equal(await waiting, 'ready\n');
  assert.doesNotMatch(reaching.stderr(), /no client/);
});

test('a client that was not told that the tunnel is private carries nothing', async (t) => {
  const { account, carrier } = await world(t);
  const { body } = await account.call<{ url: string; token: string }>('GET', `/api/tunnels/database?project=${account.project}`);
  const running = carrier.start(['tcp', '--url', body.url, '--upstream', '127.0.0.1:9'], {
    env: { UNDERPASS_TOKEN: body.token },
  });
  await running.seen(/The tunnel is private, and this client was not told so/);
  running.signal('SIGTERM');
  await running.ended;
});
