// Live events of a user who loses the right to them: the stream ends at once and sends nothing more. And what a brief stream tells.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';

type Reader = ReadableStreamDefaultReader<Uint8Array>;

let test: TestControl;
let ann: SignedUp;
let count = 0;

before(async () => {
  test = await createTestControl();
  ann = await test.signUp('ann@example.com');
});
after(() => test.close());

const query = () => `?project=${ann.projectId}`;
const openStream = async (who: Pick<SignedUp, 'send'>): Promise<Reader> =>
  (await who.send('GET', `/api/events${query()}`)).body!.getReader();

async function readUntil(reader: Reader, wanted: RegExp): Promise<void> {
  let text = '';
  for (const decoder = new TextDecoder(); !wanted.test(text); ) {
    const { value, done } = await reader.read();
    assert.ok(!done, `the stream ended after ${text}`);
    text += decoder.decode(value, { stream: true });
  }
}

describe('live events after the right to them is lost', () => {
  // With mocked timers there is no beat and no batch, so only the loss of the right can end a stream.
  beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }));
  afterEach(() => mock.timers.reset());

  const restOf = async (reader: Reader): Promise<string> => {
    let text = '';
    for (const decoder = new TextDecoder(); ; ) {
      const { value, done } = await reader.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
    }
  };
  const member = async (): Promise<SignedUp> => {
    const person = await test.signUp(`live-${++count}@example.com`);
    await test.addMember(ann.projectId, person.userId, 'admin');
    return person;
  };
  const makeToken = (person: SignedUp) =>
    person.call<{ id: string; token: string }>('POST', `/api/tokens${query()}`, { name: 'ci', role: 'viewer' });
  const membersPath = (person: SignedUp): string => `/api/members/${person.userId}${query()}`;

  const ways: readonly [name: string, end: (person: SignedUp) => Promise<unknown>][] = [
    ['logged out', (person) => person.call('POST', '/auth/logout')],
    [
      'ended the session',
      async (person) => {
        const [session] = await person.call<{ id: string }[]>('GET', '/api/sessions');
        await person.call('DELETE', `/api/sessions/${session?.id}`);
      },
    ],
    ['left the project', (person) => person.call('DELETE', membersPath(person))],
    ['was removed from it', (person) => ann.call('DELETE', membersPath(person))],
    ['deleted the account', (person) => person.call('DELETE', '/api/account', { email: person.email })],
    [
      'was suspended',
      async (person) => {
        const operator = await test.signUp(`operator-${++count}@example.com`, { operator: true });
        await operator.call('PATCH', `/api/operator/users/${person.userId}`, { suspended: true });
      },
    ],
  ];
  for (const [name, end] of ways) {
    it(`end at once: ${name}`, async () => {
      const person = await member();
      const reader = await openStream(person);
      await end(person);
      await restOf(reader);
    });
  }

  it('end at once: the API token was revoked, and the stream of the user who made it goes on', async () => {
    const person = await member();
    const own = await openStream(person);
    const { id, token } = await makeToken(person);
    const ofToken = await openStream(test.client(token));
    await ann.call('DELETE', `/api/tokens/${id}${query()}`);
    await restOf(ofToken);
    for (let turns = 0; turns < 5; turns++) await nextTurn();
    mock.timers.tick(4_000);
    await readUntil(own, /event: beat/);
    await own.cancel();
  });

  it('send nothing more, however the right was lost', async () => {
    const person = await member();
    const name = `moved-${++count}`;
    await ann.call('POST', `/api/tunnels${query()}`, { name, region: 'local' });
    const reader = await openStream(person);
    await readUntil(reader, new RegExp(name));
    await test.store.db.deleteFrom('members').where('user_id', '=', person.userId).execute();
    const tunnel = test.store.db.selectFrom('tunnels').select('id').where('name', '=', name);
    test.feed.move([(await tunnel.executeTakeFirstOrThrow()).id]);
    // Batches begin after the last line of the present state.
    for (let turns = 0; turns < 5; turns++) await nextTurn();
    mock.timers.tick(500);
    assert.equal(await restOf(reader), 'event: membership\ndata: {"is":"removed"}\n\n');
  });

  it('tell a new role at once and go on, and tell a deleted project from a lost membership', async () => {
    const person = await member();
    const project = await ann.call<{ id: string }>('POST', '/api/projects', { name: `gone-${++count}` });
    await test.addMember(project.id, person.userId, 'admin');
    const reader = await openStream(person);
    const ofGone = (await person.send('GET', `/api/events?project=${project.id}`)).body!.getReader();
    for (const role of ['viewer', 'member']) {
      await ann.call('PATCH', membersPath(person), { role });
      await readUntil(reader, /event: membership\ndata: {"is":"changed"}/);
    }
    await ann.call('DELETE', `/api/projects/${project.id}`, { name: `gone-${count}` });
    assert.match(await restOf(ofGone), /event: membership\ndata: {"is":"deleted"}/);
    await reader.cancel();
  });

  it('tell at once that the role is not the one that the page shows', async () => {
    const person = await member();
    const stale = (await person.send('GET', `/api/events${query()}&role=viewer`)).body!.getReader();
    await readUntil(stale, /event: membership\ndata: {"is":"changed"}/);
    await stale.cancel();
  });
});

describe('a brief stream of live events', () => {
  const client = { id: 'c', address: '', version: '', since: '', edge: '', rttMs: null, healthy: true };
  const make = async (person: SignedUp, name: string): Promise<string> => {
    await person.call('POST', `/api/tunnels?project=${person.projectId}`, { name, region: 'local' });
    return (await test.store.db.selectFrom('tunnels').select('id').where('name', '=', name).executeTakeFirstOrThrow()).id;
  };
  const eventOf = (name: string, clients: number) =>
    `event: tunnel\ndata: ${JSON.stringify({ name, status: 'Created', connectedClients: clients, ...conditionOf(clients) })}\n\n`;
  const conditionOf = (clients: number) => (clients > 0 ? { condition: 'working', conditionSince: '' } : { condition: 'unused' });

  it('begins with one event for all tunnels, and tells changes of status and clients only; of one tunnel everything', async () => {
    const bea = await test.signUp('bea-brief@example.com');
    const ids = [];
    for (const name of ['brief-a', 'brief-b', 'brief-c']) ids.push(await make(bea, name));
    const [a = '', b = '', c = ''] = ids;
    for (const id of ids) test.feed.serving.add(id);
    test.feed.connected.set(b, [client]);
    const response = await bea.send('GET', `/api/events?project=${bea.projectId}&brief=1&tunnel=brief-c`);
    const reader = response.body!.getReader();
    const groups = [
      { status: 'Created', connectedClients: 0, condition: 'unused', names: ['brief-a', 'brief-c'] },
      { status: 'Created', connectedClients: 1, condition: 'working', names: ['brief-b'] },
    ];
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    assert.equal(await next(), ': live\n\n');
    assert.equal(await next(), `event: tunnels\ndata: ${JSON.stringify(groups)}\n\n${eventOf('brief-c', 0)}`);
    test.feed.move([a, b, c]);
    assert.equal(await next(), eventOf('brief-c', 0));
    test.feed.connected.set(a, [client]);
    test.feed.move([a, b]);
    assert.equal(await next(), eventOf('brief-a', 1));
    test.feed.connected.delete(a);
    test.feed.move([a, b]);
    assert.equal(await next(), eventOf('brief-a', 0));
    await reader.cancel();
  });
});
