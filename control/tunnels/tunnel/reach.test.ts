// Private tunnels at control: who gets a pass or a ticket, and what the edges hear of it. On both databases.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { NewReachTicket, ReachTicket } from '@underpass/rules/entity/resource.ts';
import { dayMs, durations } from '@underpass/rules/limits.ts';
import { parseTicket } from '@underpass/wire/ticket/reach-ticket.ts';
import { verifyVisit } from '@underpass/wire/ticket/signed-visit.ts';
import { readTunnels } from '../../edges/feed/region-content.ts';
import { TicketUse } from '../../edges/feed/ticket-use.ts';
import { addPasskey } from '../../people/passkey/test-kit.ts';
import { createKeyRing } from '../../platform/secret/key-ring.ts';
import { hashToken } from '../../platform/secret/token.ts';
import { createTestControl, type SignedUp, type TestClient, type TestControl } from '../../test-kit.ts';
import { onBothDatabases } from '../../test-kit-databases.ts';

const keyRing = createKeyRing([Buffer.alloc(32, 7)]);

onBothDatabases((name, skip, open) => {
  describe(`private tunnels in ${name}`, { skip }, () => {
    let test: TestControl;
    let ann: SignedUp;
    const path = (rest: string, { projectId } = ann) => `/api/${rest}?project=${projectId}`;
    const make = (more: object = {}) =>
      ann.send('POST', path('tunnels'), { name: 'database', region: 'local', type: 'tcp', private: true, ...more });
    const ticket = (body: object = { name: 'laptop' }) =>
      ann.call<NewReachTicket>('POST', path('tunnels/database/tickets'), body);
    async function feed() {
      const { id } = await test.store.db
        .selectFrom('tunnels')
        .select('id')
        .where('name', '=', 'database')
        .executeTakeFirstOrThrow();
      const source = { keyRing, origin: '' };
      return (await readTunnels(test.store.db, source, [id], test.time.now))[0]!.tunnel;
    }

    const passes = async (): Promise<readonly string[]> => (await feed()).reach!.passes.map(({ id }) => id);
    /** What the pass names that this person gets by a session, or by a token. */
    async function passOf(by: Pick<SignedUp, 'call'> = ann): Promise<string> {
      const { ticket: text } = await by.call<{ ticket: string }>('POST', path('tunnels/database/reach'));
      const { secret, tunnelId } = parseTicket(text)!;
      const { reach } = await feed();
      return verifyVisit(Buffer.from(reach!.keys[0]!), 'reach', tunnelId, secret, test.time.now)!.claims.subject;
    }
    async function token(body: object = {}): Promise<{ readonly id: string; readonly client: TestClient }> {
      const made = await ann.call<{ id: string; token: string }>('POST', path('tokens'), { name: 'ci', role: 'member', ...body });
      return { id: made.id, client: test.client(made.token) };
    }

    beforeEach(async () => {
      test = await createTestControl({ store: await open(), keyRing });
      ann = await test.signUp('ann@example.com');
    });
    afterEach(async () => {
      await test.close();
      await test.store.close();
    });

    it('one needs no range of ports, and takes none', async () => {
      const answer = await make();
      assert.equal(answer.status, 200, await answer.clone().text());
      assert.equal(((await answer.json()) as Tunnel).port, undefined);
      assert.deepEqual(await test.store.db.selectFrom('tcp_ports').selectAll().execute(), []);
      const refused = await make({ name: 'web', type: 'http' });
      assert.deepEqual([refused.status, await refused.text()], [400, 'Only a tcp tunnel can be private.']);
    });

    it('a member gets a pass for minutes, signed for this tunnel; a viewer gets none', async () => {
      await make();
      const { ticket: text, until } = await ann.call<{ ticket: string; until: string }>('POST', path('tunnels/database/reach'));
      assert.equal(Date.parse(until), test.time.now + 600_000);
      const { tunnelId, name: label } = parseTicket(text)!;
      assert.equal(tunnelId, (await feed()).id);
      assert.match(label, /\/database$/);
      const anns = await passOf();
      assert.deepEqual(await passes(), [anns], 'all passes of one sign-in name the same');
      const eve = await test.signUp('eve@example.com');
      assert.equal((await eve.send('POST', path('tunnels/database/reach'))).status, 404);
      await test.addMember(ann.projectId, eve.userId, 'viewer');
      assert.equal((await eve.send('POST', path('tunnels/database/reach'))).status, 403);
      await test.store.db.updateTable('members').set({ role: 'member' }).where('user_id', '=', eve.userId).execute();
      const eves = await passOf(eve);
      assert.deepEqual(await passes(), [anns, eves].sort());
      await test.store.db.updateTable('members').set({ role: 'viewer' }).where('user_id', '=', eve.userId).execute();
      assert.deepEqual(await passes(), [anns]);
      await test.store.db.updateTable('users').set({ suspended_at: 1 }).where('id', '=', ann.userId).execute();
      assert.deepEqual(await passes(), []);
    });

    it('the edges hold a pass before it is given out', async (t) => {
      await make();
      const order: string[] = [];
      t.mock.method(test.feed, 'tunnelsChanged', () => void order.push('told'));
      t.mock.method(test.feed, 'delivered', async (region: string) => {
        order.push(`${region}: ${(await passes()).length}`);
      });
      await passOf();
      assert.deepEqual(order, ['told', 'local: 1']);
      await passOf();
      assert.equal(order.length, 2, 'later passes do not wait');
    });

    it('a pass ends with the sign-in or the token that got it, and with no other', async () => {
      await make();
      const [one, two] = [await token(), await token()];
      const [anns, ones, twos] = [await passOf(), await passOf(one.client), await passOf(two.client)];
      assert.deepEqual(await passes(), [anns, ones, twos].sort());
      await ann.call('DELETE', path(`tokens/${one.id}`));
      assert.deepEqual(await passes(), [anns, twos].sort());
      await ann.call('POST', '/auth/logout');
      assert.deepEqual(await passes(), [twos]);
    });

    it('a pass ends when its token does, which edges are told beforehand unless each use moves that end', async () => {
      await make();
      const { id, client } = await token({ expiresInDays: 1 });
      const pass = await passOf(client);
      const endsAtMs = test.time.now + dayMs;
      assert.deepEqual((await feed()).reach!.passes, [{ id: pass, expiresAtMs: endsAtMs }]);
      await test.store.db.updateTable('api_tokens').set({ cli: 1 }).where('id', '=', id).execute();
      assert.deepEqual((await feed()).reach!.passes, [{ id: pass, expiresAtMs: null }]);
      test.time.now = endsAtMs;
      assert.deepEqual(await passes(), []);
    });

    it('a pass ends when its session does: by disuse, and sooner for an operator', async () => {
      await make();
      const pass = await passOf();
      const lives = async (operator: 0 | 1, hours: number): Promise<boolean> => {
        await test.store.db.updateTable('users').set({ operator }).where('id', '=', ann.userId).execute();
        const seen = { seen_at: test.time.now - hours * 3_600_000 };
        await test.store.db.updateTable('sessions').set(seen).where('user_id', '=', ann.userId).execute();
        return (await passes()).includes(pass);
      };
      const last = durations.operatorSessionIdleHours;
      assert.deepEqual([await lives(1, last - 1), await lives(1, last), await lives(0, last)], [true, false, true]);
      const idle = durations.sessionIdleDays * 24;
      assert.deepEqual([await lives(0, idle - 1), await lives(0, idle)], [true, false]);
    });

    it('a changed role is told to the edges at once, as a removal is', async (t) => {
      await make();
      const bob = await test.signUp('bob@example.com');
      await test.addMember(ann.projectId, bob.userId, 'member');
      const { id } = await feed();
      const told = t.mock.method(test.feed, 'tunnelsChanged');
      const member = path(`members/${bob.userId}`);
      for (const role of ['viewer', 'member']) await ann.call('PATCH', member, { role });
      await ann.call('DELETE', member);
      assert.deepEqual(
        told.mock.calls.map((call) => call.arguments[0]),
        [[id], [id], [id]],
      );
    });

    it('where passkeys are required, only members with one are told to the edges, at each change', async (t) => {
      await make();
      const bob = await test.signUp('bob@example.com');
      const operator = await test.signUp('olga@example.com', { operator: true });
      await test.addMember(ann.projectId, bob.userId, 'member');
      await addPasskey(ann);
      const { id } = await feed();
      const told = t.mock.method(test.feed, 'tunnelsChanged');
      const passesAfter = async (change: Promise<unknown>): Promise<readonly string[]> => {
        told.mock.resetCalls();
        await change;
        assert.deepEqual(told.mock.calls.at(-1)?.arguments[0], [id]);
        return passes();
      };
      const rule = (required: boolean) => ann.call('PATCH', `/api/projects/${ann.projectId}/passkeys`, { required });
      await passOf();
      assert.deepEqual(await passesAfter(rule(true)), [], 'earlier ones are over');
      const anns = await passOf();
      assert.deepEqual(await passesAfter(addPasskey(bob)), [anns]);
      const both = [anns, await passOf(bob)].sort();
      assert.deepEqual(await passes(), both);
      assert.deepEqual(await passesAfter(operator.call('DELETE', `/api/operator/users/${bob.userId}/passkeys`)), [anns]);
      assert.deepEqual(await passesAfter(rule(false)), [anns]);
      assert.equal((await passOf(bob)).length, anns.length);
    });

    it('the end of other sign-ins ends the passes that were given before', async () => {
      await make();
      const programs = await token();
      const before = [await passOf(), await passOf(programs.client)];
      assert.equal((await passes()).length, 2);
      await ann.call('POST', '/api/account/end-other-sign-ins');
      assert.deepEqual(await passes(), []);
      const after = [await passOf(), await passOf(programs.client)];
      assert.equal(new Set([...before, ...after]).size, 4, 'what goes on gets another pass');
      assert.deepEqual(await passes(), after.sort());
    });

    it('a ticket is shown once, stored as a hash, listed, and ends by the clock or by hand', async () => {
      await make();
      const made = await ticket({ name: 'laptop', expiresInDays: 1 });
      const { secret } = parseTicket(made.ticket)!;
      const rows = await test.store.db.selectFrom('reach_tickets').selectAll().execute();
      assert.equal(JSON.stringify(rows).includes(secret), false);
      const expected = { id: made.id, hash: hashToken(secret), expiresAtMs: test.time.now + dayMs };
      assert.deepEqual((await feed()).reach!.tickets, [expected]);
      const listed = await ann.call<ReachTicket[]>('GET', path('tunnels/database/tickets'));
      assert.deepEqual(
        listed.map((one) => [one.name, one.createdBy, one.usedAt, 'ticket' in one]),
        [['laptop', 'ann@example.com', null, false]],
      );
      await ann.call('DELETE', path(`tunnels/database/tickets/${made.id}`));
      assert.deepEqual((await feed()).reach!.tickets, []);
      const { entries } = await ann.call<{ entries: { action: string }[] }>('GET', path('audit'));
      const actions = entries.map(({ action }) => action).filter((action) => action.endsWith('-ticket'));
      assert.deepEqual(actions, ['tunnel.delete-ticket', 'tunnel.create-ticket']);
    });

    it('a use of a ticket that an edge reports from the future counts as of now', async () => {
      await make();
      const { id } = await ticket();
      const report = { tunnelId: (await feed()).id, rxBytes: 0, txBytes: 0, connections: 0, requests: 0, clients: [] };
      const uses = new TicketUse(test.store);
      const usedAt = async (atMs: number) => {
        await uses.note([{ ...report, ticketsUsed: [{ id, atMs }] }], test.time.now);
        const listed = await ann.call<ReachTicket[]>('GET', path('tunnels/database/tickets'));
        return Date.parse(listed[0]!.usedAt!);
      };
      assert.equal(await usedAt(8.64e15), test.time.now);
      test.time.now += 60_000;
      assert.equal(await usedAt(test.time.now), test.time.now);
    });

    it('a ticket shows when it was last used, as edges report it: not back, and not by the report of another tunnel', async () => {
      await make();
      const { id } = await ticket();
      const { id: tunnelId } = await feed();
      const none = { clients: [], rxBytes: 0, txBytes: 0, connections: 0, requests: 0 };
      const use = (by: string, atMs: number) =>
        new TicketUse(test.store).note([{ ...none, tunnelId: by, ticketsUsed: [{ id, atMs }] }], test.time.now);
      const usedAt = async () => (await ann.call<ReachTicket[]>('GET', path('tunnels/database/tickets')))[0]!.usedAt;
      await use('another', 1_000);
      assert.equal(await usedAt(), null);
      await use(tunnelId, 200_000);
      await use(tunnelId, 100_000);
      assert.equal(await usedAt(), new Date(200_000).toISOString());
    });

    it('a tunnel that is not private gets neither, and its route says nobody', async () => {
      await make({ type: 'http', private: false, ingressDomains: [] });
      for (const rest of ['reach', 'tickets']) {
        const refused = await ann.send('POST', path(`tunnels/database/${rest}`), { name: 'laptop' });
        assert.deepEqual([refused.status, /is not private/.test(await refused.text())], [400, true]);
      }
      assert.equal((await feed()).reach, undefined);
    });
  });
});
