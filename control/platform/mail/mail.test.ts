// Mail over real SMTP to a server in the test, the development mailbox, and the text of every mail.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { createTestControl, linkToken, loginForm } from '../../test-kit.ts';
import type { KeptMail } from './mail.ts';
import { createMailbox } from './mailbox.ts';
import { invitationMail, loginLinkMail, plainName } from './mails.ts';
import { createSmtpMail } from './smtp.ts';

const closers: (() => unknown)[] = [];
after(async () => {
  for (const close of closers) await close();
});

interface Received {
  readonly from: string;
  readonly to: readonly string[];
  readonly mail: Email;
  readonly raw: string;
}

async function openSmtp(options: SMTPServerOptions = {}) {
  const received: Received[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: async (stream, session, done) => {
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      const raw = Buffer.concat(chunks).toString();
      const { mailFrom, rcptTo } = session.envelope;
      const from = mailFrom === false ? '' : mailFrom.address;
      received.push({ from, to: rcptTo.map((each) => each.address), mail: await PostalMime.parse(raw), raw });
      done();
    },
    ...options,
  });
  const listener = server.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  closers.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const url = `smtp://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const smtp = createSmtpMail(url, 'Underpass <no-reply@underpass.example>');
  closers.unshift(() => smtp.close());
  return { received, smtp, url };
}

describe('SMTP', () => {
  it('delivers a login link that works', async () => {
    const { received, smtp } = await openSmtp();
    const test = await createTestControl({ sendMail: smtp.send });
    await test.signUp('ann@example.com');
    const browser = test.client();
    await browser.call('POST', '/auth/magiclink', loginForm('ann@example.com'));
    await test.control.settle();
    const [{ from, to, mail }] = received as [Received];
    assert.deepEqual([from, to], ['no-reply@underpass.example', ['ann@example.com']]);
    assert.equal(mail.subject, 'Your Underpass login link');
    assert.equal(mail.headers.find((each) => each.key === 'auto-submitted')?.value, 'auto-generated');
    const token = linkToken([{ to: 'ann@example.com', subject: '', text: mail.text ?? '' }], 'ann@example.com');
    assert.equal((await browser.send('POST', '/auth/login', new URLSearchParams({ token }))).status, 204);
    await test.close();
  });

  it('keeps every field out of headers and recipients', async () => {
    const { received, smtp } = await openSmtp();
    await smtp.send({
      to: 'ann@example.com',
      subject: 'Hello\r\nBcc: evil@example.com\r\n\r\nBody',
      text: 'a\r\n.\r\nMAIL FROM:<evil@example.com>\r\n',
    });
    assert.deepEqual(
      received.map((each) => each.to),
      [['ann@example.com']],
    );
    const { mail } = received[0]!;
    assert.equal(mail.bcc?.length ?? 0, 0);
    assert.match(mail.text ?? '', /^a\n\.\nMAIL FROM:<evil@example\.com>/);
    await smtp.send({ to: 'ann@example.com, evil@example.com', subject: 's', text: 't' }).catch(() => {});
    assert.ok(received.every((each) => !each.to.includes('evil@example.com')));
  });

  it('greets by name, but not by a link or message registered as a name', () => {
    for (const name of ['Ada', 'Jean-Luc', 'María José', 'O’Neill', 'Ада']) assert.equal(plainName(name), name);
    for (const name of [
      'evil.example',
      'see https://evil.example',
      'a@b',
      'call 0800 1',
      'your account is locked, and will be deleted soon',
    ])
      assert.match(loginLinkMail(name, 'https://underpass.example/x', false).text, /^Hello,\n/, name);
  });

  it('names the project in an invitation, but not a link or message used as its name', () => {
    const facts = { invitedBy: 'ann@example.com', url: 'https://underpass.example/x' };
    const mail = (projectName: string) => invitationMail({ ...facts, projectName }, 'sign-in').text;
    assert.match(mail('Home lab'), /invites you to the project "Home lab" on Underpass\./);
    for (const projectName of ['evil.example', 'Locked! Sign in at https://evil.example', 'x'.repeat(63)])
      assert.match(mail(projectName), /invites you to a project on Underpass\./, projectName);
  });

  it('reaches each of several people once, even while one of them cannot be reached', async () => {
    const sent: string[] = [];
    const test = await createTestControl({
      sendMail: async ({ to }) => (to === 'bob@example.com' ? Promise.reject(new Error('no such mailbox')) : void sent.push(to)),
    });
    const [ann, bob, cid] = [
      await test.signUp('ann@example.com'),
      await test.signUp('bob@example.com'),
      await test.signUp('cid@example.com'),
    ];
    await test.addMember(ann.projectId, bob.userId, 'admin');
    await test.addMember(ann.projectId, cid.userId, 'admin');
    const domain = { id: 'd', projectId: ann.projectId, apexName: 'lost.com' };
    (await test.store.write((trx) => test.control.onDomainLost(trx, domain)))();
    for (let tries = 0; tries < 5; tries++) {
      await test.control.settle();
      test.time.now += 3600_000;
    }
    assert.deepEqual(sent.toSorted(), [ann.email, cid.email]);
    await test.close();
  });

  it('fails when the server refuses, so that the queue tries again', async () => {
    const { smtp } = await openSmtp({ onRcptTo: (_, __, done) => done(Object.assign(new Error('busy'), { responseCode: 451 })) });
    await assert.rejects(smtp.send({ to: 'ann@example.com', subject: 's', text: 't' }), /451/);
  });

  const refusals = {
    'gives up at once an address that nobody has': ['5.1.1 no such user here', 1],
    'tries on where the server does not know us yet': ['5.7.1 relay access denied', 4],
    'tries on where the server does not like the sender': ['5.1.8 sender address rejected', 4],
  } as const;
  for (const [what, [words, times]] of Object.entries(refusals)) {
    it(what, async () => {
      let asked = 0;
      const { smtp } = await openSmtp({
        onRcptTo: (_, __, done) => {
          asked += 1;
          done(Object.assign(new Error(words), { responseCode: 550 }));
        },
      });
      const test = await createTestControl({ sendMail: smtp.send });
      const ann = await test.signUp('ann@example.com');
      const domain = { id: 'd', projectId: ann.projectId, apexName: 'lost.com' };
      (await test.store.write((trx) => test.control.onDomainLost(trx, domain)))();
      for (let tries = 0; tries < 4; tries++) {
        await test.control.settle();
        test.time.now += 3600_000;
      }
      assert.equal(asked, times);
      await test.close();
    });
  }
});

describe('the development mailbox', () => {
  const openFolder = () => {
    const folder = mkdtempSync(join(tmpdir(), 'underpass-mailbox-'));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    return join(folder, 'mailbox');
  };

  it('keeps the newest 200 mails, newest first, readable only by the user of the process', async () => {
    const folder = openFolder();
    let now = 1_000;
    const mailbox = createMailbox(folder, () => now++);
    for (let i = 0; i < 205; i++) await mailbox.send({ to: 'a@example.com', subject: `${i}`, text: 't' });
    const mails = await mailbox.list();
    assert.deepEqual([mails.length, mails[0]?.subject, mails.at(-1)?.subject], [200, '204', '5']);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
  });

  it('is empty before the first mail', async () => {
    assert.deepEqual(await createMailbox(openFolder(), Date.now).list(), []);
  });

  const kept: KeptMail = { id: '1', at: '2026-11-20T10:00:00.000Z', to: 'a@example.com', subject: '<script>', text: 'hello' };

  it('shows mails as plain text, and only to operators', async () => {
    const test = await createTestControl({ mailbox: { list: async () => [kept] } });
    const operator = await test.signUp('operator@example.com', { operator: true });
    const ann = await test.signUp('ann@example.com');
    const response = await operator.send('GET', '/dev/mailbox');
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain/);
    assert.match(await response.text(), /To: a@example\.com\nSubject: <script>\n\nhello/);
    assert.equal((await ann.send('GET', '/dev/mailbox')).status, 403);
    assert.equal((await test.client().send('GET', '/dev/mailbox')).status, 403);
    await test.close();
  });

  it('does not exist in production', async () => {
    const test = await createTestControl({ mailbox: { list: async () => [kept] }, settings: { production: true } });
    const operator = await test.signUp('operator@example.com', { operator: true });
    assert.doesNotMatch(await (await operator.send('GET', '/dev/mailbox')).text(), /hello/);
    await test.close();
  });
});
