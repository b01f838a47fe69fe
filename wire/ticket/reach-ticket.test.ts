import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTicket, renderTicket, ticketMaxChars } from './reach-ticket.ts';

const content = {
  url: `https://eu1.example.com:8443#ca=${'ab'.repeat(32)}`,
  tunnelId: '01k9',
  name: 'Ann’s project/database',
  secret: 'x'.repeat(43),
};
const encode = (value: unknown): string => `reach_${Buffer.from(JSON.stringify(value)).toString('base64url')}`;

test('a ticket is read as it was written, with and without a key, and with spaces around it', () => {
  const bound = { ...content, pin: 'cd'.repeat(32), grant: '0123456789abcdef-0-00' };
  for (const one of [content, bound]) assert.deepEqual(parseTicket(` ${renderTicket(one)}\n`), one);
});

test('members of a later version are ignored, and everything else is refused', () => {
  assert.deepEqual(parseTicket(encode({ ...content, later: 1 })), content);
  const { secret: _, ...without } = content;
  const wrong: readonly unknown[] = [
    null,
    [],
    'text',
    {},
    without,
    { ...content, url: 'http://eu1.example.com' },
    { ...content, url: 'https://eu1.example.com/path' },
    { ...content, url: 'https://user@eu1.example.com' },
    { ...content, tunnelId: 'a\r\nb' },
    { ...content, secret: 'a b' },
    { ...content, secret: 'a\r\nX: y' },
    { ...content, pin: '' },
    { ...content, grant: 'a:22 HTTP/1.1' },
    { ...content, name: 'clear\u001b[2J' },
    { ...content, secret: ['x'] },
  ];
  for (const value of wrong) assert.equal(parseTicket(encode(value)), null, JSON.stringify(value));
  for (const text of ['', 'reach_', 'reach_!!', 'database', `reach_${'A'.repeat(ticketMaxChars)}`])
    assert.equal(parseTicket(text), null);
});
