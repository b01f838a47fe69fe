// reach against an edge that has all of its keys, sees every byte, and does what an operator could do. The carrying client is
// `underpass tcp --private`.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect as connectTls, TLSSocket } from 'node:tls';
import type { RefusalCode } from '@underpass/wire/core/code.ts';
import { acceptUpgrade, refuseUpgrade } from '@underpass/wire/handshake.ts';
import { relaySocket } from '@underpass/wire/relay.ts';
import { renderTicket, type TicketContent } from '@underpass/wire/ticket/reach-ticket.ts';
import { startUpstream, visit } from '../carry/fixture/carrying.ts';
import { type FakeCarrier, type FakeEdgeOptions, startFakeEdge } from '../carry/fixture/edge.ts';
import { createIdentity, parseIdentity } from '../gateway/identity.ts';
import { createGrant } from '../gateway/reach-key.ts';
import { accountRoutes, type Cli, createCli, startFakeApi } from '../test-kit.ts';
import { parseListen } from './reach.ts';

interface World {
  readonly cli: Cli;
  /** All that passes the edge, both ways. */
  readonly seen: () => Buffer;
  /** Texts that reached the service. */
  readonly served: readonly string[];
  /** A connection of the edge itself to the client, as a stream with this host. */
  dial(host: string): ReturnType<typeof connect>;
  ticket(more: Partial<TicketContent>): Promise<string>;
  readonly key: ReturnType<typeof parseIdentity> & object;
}

const info = { type: 'tcp', tcp: true, private: true, tunnel: 'database' } as const;

/** `onReach` replaces the honest edge. */
async function world(t: TestContext, more: readonly string[] = [], onReach?: FakeEdgeOptions['onReach']): Promise<World> {
  const seen: Buffer[] = [];
  const served: string[] = [];
  const service = await startUpstream((socket) => {
    socket.on('error', () => {}).on('data', (chunk: Buffer) => void served.push(String(chunk)));
    socket.write('words of the service\n');
    socket.pipe(socket);
  }, 'tcp');
  t.after(() => service[Symbol.asyncDispose]());
  const door = createServer({ allowHalfOpen: true }, () => {}).listen(0, '127.0.0.1');
  await once(door, 'listening');
  t.after(() => door.close());
  let carrier: FakeCarrier | undefined;
  const hosts: string[] = [];
  door.on('connection', (socket) => {
    const stream = visit(carrier!, { kind: 'tcp', host: hosts.shift() ?? ':reach', preface: new Uint8Array(0) });
    relaySocket(
      stream,
      socket.on('error', () => {}),
    );
  });
  const dial: World['dial'] = (host) => {
    hosts.push(host);
    const socket = connect({ port: (door.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
    t.after(() => void socket.destroy());
    return socket.on('error', () => {});
  };
  const honest: FakeEdgeOptions['onReach'] = (socket, request) => {
    acceptUpgrade(socket, request);
    socket.allowHalfOpen = true;
    const inner = dial(':reach');
    const pass = (from: NodeJS.ReadWriteStream, to: NodeJS.ReadWriteStream): void => {
      from.on('data', (chunk: Buffer) => {
        seen.push(Buffer.from(chunk));
        to.write(chunk);
      });
      from.on('end', () => to.end());
    };
    pass(socket, inner);
    pass(inner, socket);
  };
  const edge = await startFakeEdge({ info, onReach: onReach ?? honest });
  t.after(() => edge[Symbol.asyncDispose]());
  const cli = await createCli(t, { UNDERPASS_TOKEN: 'secret' });
  const running = cli.start(['tcp', '--private', ...more, '--url', edge.url, '--upstream', `127.0.0.1:${service.port}`]);
  carrier = await edge.next();
  await running.seen(/ connected /);
  t.after(async () => {
    running.signal('SIGTERM');
    await running.ended;
  });
  const key = parseIdentity(await readFile(join(cli.home, '.config/underpass/reach.pem'), 'utf8'))!;
  const ticket: World['ticket'] = async (content) => {
    const file = join(cli.home, 'ticket');
    const text = renderTicket({ url: edge.url, tunnelId: 't1', name: 'acme/database', secret: 'secret', ...content });
    await writeFile(file, text, { mode: 0o600 });
    return file;
  };
  return { cli, seen: () => Buffer.concat(seen), served, dial, ticket, key };
}

const id = '0123456789abcdef';
const reach = (cli: Cli, file: string, stdin = 'words of the visitor') =>
  cli.run(['reach', '--ticket-file', file, '--stdio'], { stdin });

test('the edge passes on what it cannot read: records of TLS and nothing else', async (t) => {
  const { cli, seen, served, ticket, key } = await world(t, ['--tickets-only']);
  const grant = createGrant(key, id, null);
  const { code, stdout, stderr } = await reach(cli, await ticket({ pin: key.pin, grant }));
  assert.deepEqual([code, stderr, stdout], [0, '', 'words of the service\nwords of the visitor']);
  assert.deepEqual(served, ['words of the visitor']);
  const text = seen().toString('latin1');
  assert.ok(text.length > 1_000 && text.startsWith('\x16\x03'), 'a handshake');
  for (const secret of ['words of', 'CONNECT', grant, id]) assert.equal(text.includes(secret), false, secret);
  assert.equal(seen().includes(Buffer.from(key.pin, 'hex')), false);
});

test('an edge with a certificate of its own learns nothing: not by a ticket, and not after the first time', async (t) => {
  const heard: Buffer[] = [];
  const mine = parseIdentity(createIdentity())!;
  let isHonest = false;
  const { cli, ticket, key, dial } = await world(t, [], (socket, request) => {
    acceptUpgrade(socket, request);
    socket.allowHalfOpen = true;
    if (isHonest) return void socket.pipe(dial(':reach')).pipe(socket);
    const inner = new TLSSocket(socket, { isServer: true, key: mine.keyPem, cert: mine.certificatePem });
    inner.on('error', () => {}).on('data', (chunk: Buffer) => void heard.push(chunk));
  });
  const pinned = await reach(cli, await ticket({ pin: key.pin, grant: createGrant(key, id, null) }));
  assert.match(pinned.stderr, /code: reach-untrusted/);
  isHonest = true;
  const first = await reach(cli, await ticket({}));
  assert.match(first.stderr, new RegExp(`its key is trusted from now on.*\\n +${key.pin}`));
  assert.equal(first.code, 0);
  isHonest = false;
  const later = await reach(cli, await ticket({}));
  assert.match(later.stderr, new RegExp(`presents ${mine.pin}, and had ${key.pin} before`));
  const named = await cli.run(['reach', '--ticket-file', await ticket({}), '--key', key.pin, '--stdio'], { stdin: 'words' });
  assert.match(named.stderr, /code: reach-untrusted/);
  assert.equal(Buffer.concat(heard).length, 0);
});

test('an edge cannot dial the service itself: not in plain text, and not without a grant', async (t) => {
  const { served, dial, key } = await world(t, ['--tickets-only']);
  const other = parseIdentity(createIdentity())!;
  for (const host of [':20017', ':reach', '']) {
    const socket = dial(host);
    socket.write('plain words\n');
    await new Promise((resolve) => socket.resume().once('end', resolve).once('close', resolve));
    socket.destroy();
  }
  const names = {
    member: 'no grant',
    [createGrant(other, id, null)]: 'a grant by another key',
    [createGrant(key, id, 1_000_000)]: 'a grant that has ended',
    [createGrant(key, id, null).replace('-0-', '-zz-')]: 'a grant with another end',
    [`${createGrant(key, id, null).slice(0, -1)}_`]: 'a grant that is cut',
  };
  for (const [name, why] of Object.entries(names)) {
    const socket = connectTls({ socket: dial(':reach'), rejectUnauthorized: false });
    socket.on('error', () => {}).end(`CONNECT ${name}:22 HTTP/1.1\r\n\r\nwords`);
    const answer = Buffer.concat(await socket.toArray()).toString();
    assert.match(answer, /^HTTP\/1\.1 40[03] /, why);
  }
  assert.deepEqual(served, []);
});

test('a client that is away for a moment is waited for: no client at its edge, and one that breaks off, are passing', async (t) => {
  let tries = 0;
  const { cli, ticket, key, dial } = await world(t, [], (socket, request) => {
    acceptUpgrade(socket, request);
    socket.allowHalfOpen = true;
    tries++;
    if (tries === 1) return void socket.end(Buffer.from('15030100020250', 'hex'));
    if (tries === 2) return void socket.once('data', () => socket.destroy());
    socket.pipe(dial(':reach')).pipe(socket);
  });
  const { code, stderr } = await reach(cli, await ticket({ pin: key.pin, grant: createGrant(key, id, null) }));
  assert.deepEqual([code, stderr, tries], [0, '', 3]);
});

test('an edge that does not know a new pass yet is asked again; one that refuses a ticket is not', async (t) => {
  let refusals = 3;
  let tries = 0;
  const { cli, ticket, dial } = await world(t, [], (socket, request) => {
    tries++;
    if (refusals-- > 0) return void refuseUpgrade(socket, 'token-refused');
    acceptUpgrade(socket, request);
    socket.allowHalfOpen = true;
    socket.pipe(dial(':reach')).pipe(socket);
  });
  const file = await ticket({});
  const pass = { body: { ticket: await readFile(file, 'utf8'), until: '2100-01-01T00:00:00.000Z' } };
  const api = await startFakeApi(t, { ...accountRoutes, 'POST /api/tunnels/database/reach': pass });
  const account = { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' };
  const member = await cli.run(['reach', 'Acme/database', '--stdio'], { stdin: 'words', env: account });
  assert.deepEqual([member.code, tries], [0, 4], member.stderr);
  assert.equal(api.calls.filter(({ path }) => path.includes('/reach')).length, 2, 'one new pass, tried again');
  refusals = 9;
  tries = 0;
  assert.match((await reach(cli, file)).stderr, /code: reach-refused/);
  assert.equal(tries, 1);
});

test('each refusal of an edge is said in words, and that of an old one, which knows no private tunnels', async (t) => {
  let code: RefusalCode = 'bad-request';
  const { cli, ticket } = await world(t, [], (socket) => refuseUpgrade(socket, code));
  const words: { readonly [Code in RefusalCode]?: RegExp } = {
    'bad-request': /the region is too old for private tunnels\n.*upgrade its edges/,
    'token-refused': /the ticket was revoked or has ended, or you are no member any more/,
    'tunnel-suspended': /the tunnel is suspended\n.*resume it/,
    denied: /its security group does not allow your address\n.*allow the address/,
  };
  const file = await ticket({});
  for (const [answer, said] of Object.entries(words)) {
    code = answer as RefusalCode;
    const { code: exit, stderr } = await reach(cli, file);
    assert.match(stderr, said);
    assert.match(stderr, /code: reach-refused/);
    assert.notEqual(exit, 0);
  }
});

test('a port without a host is one of this machine alone', () => {
  const parsed = ['5432', ':5432', '0', '0.0.0.0:5432', '[::]:5432'].map(parseListen);
  assert.deepEqual(
    parsed.map(({ host, port }) => `${host} ${port}`),
    ['127.0.0.1 5432', '127.0.0.1 5432', '127.0.0.1 0', '0.0.0.0 5432', ':: 5432'],
  );
  for (const wrong of ['', 'x', '1:2:3', '99999', '127.0.0.1'])
    assert.throws(() => parseListen(wrong), { message: `'${wrong}' is not an address, e.g. 127.0.0.1:8471` });
});

test('what is no ticket is refused in words', async (t) => {
  const cli = await createCli(t, { UNDERPASS_TICKET: 'reach_e30' });
  assert.match((await cli.run(['reach', '--stdio'])).stderr, /code: ticket-malformed/);
  assert.match((await cli.run(['reach', 'reach_abc', '--stdio'])).stderr, /the argument\n(.*\n)*.*code: ticket-malformed/);
  assert.match((await cli.run(['reach', '--stdio', '--ticket-file', '-'])).stderr, /cannot come from standard input/);
});

test('a damaged ticket as an argument is sent to nobody', async (t) => {
  const api = await startFakeApi(t, accountRoutes);
  const cli = await createCli(t, { UNDERPASS_SERVER: api.origin, UNDERPASS_API_TOKEN: 'tok' });
  const ticket = renderTicket({ url: 'https://edge.localhost', tunnelId: 't1', name: 'acme/database', secret: 'secret' });
  for (const damaged of [ticket.slice(0, -3), ` ${ticket.slice(0, 20)}`, `${ticket}\n${ticket}`]) {
    assert.match((await cli.run(['reach', damaged, '--stdio'])).stderr, /code: ticket-malformed/);
  }
  assert.deepEqual(api.calls, []);
});
