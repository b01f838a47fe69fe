import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyMaxBytes, durations, limits, projectQuotas, quotaMessage, rateLimits } from './limits.ts';
import { labelMaxChars } from './names/hostname.ts';
import { emailLocalPartMaxChars, emailMaxChars } from './people/email.ts';
import { eachCase } from './test-kit.ts';
import { renderInUse } from './text/in-use.ts';
import { maskedTokenChars } from './tunnel/token-mask.ts';
import { tunnelNameMaxChars } from './tunnel/tunnel-name.ts';

test('the constants are those of spec section 9', (t) => {
  const rows: [number, number][] = [
    [durations.copyConfirmationMs, 1500],
    [maskedTokenChars, 8],
    [tunnelNameMaxChars, 252],
    [labelMaxChars, 63],
    [emailMaxChars, 254],
    [emailLocalPartMaxChars, 64],
    [durations.restartDelaySeconds, 5],
  ];
  eachCase(t, rows, ([found, wanted]) => assert.equal(found, wanted));
});

test('a quota refuses what is above it and names itself', (t) => {
  const quotas = { ...projectQuotas, tunnels: 2 };
  const rows: [number, string | null][] = [
    [0, null],
    [2, null],
    [3, 'This project may have at most 2 tunnels. Delete some, or ask the operator for more.'],
    [1000, 'This project may have at most 2 tunnels. Delete some, or ask the operator for more.'],
  ];
  eachCase(t, rows, ([count, message]) => assert.equal(quotaMessage('tunnels', count, quotas), message));
  assert.equal(
    quotaMessage('rulesPerGroup', 501),
    'This project may have at most 500 rules in a security group. Delete some, or ask the operator for more.',
  );
});

test('default quotas stay within the hard bounds', () => {
  assert.ok(projectQuotas.rulesPerGroup <= limits.rulesPerGroup);
  assert.ok(projectQuotas.ingressDomainsPerTunnel <= limits.ingressDomainsPerTunnel);
});

test('the largest payloads that rules allow fit into the body limit', () => {
  const rules = Array.from({ length: limits.rulesPerGroup }, () => 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128');
  const domains = Array.from({ length: limits.ingressDomainsPerTunnel }, () => 'x'.repeat(253));
  assert.ok(JSON.stringify({ allow: rules }).length < bodyMaxBytes.json);
  assert.ok(JSON.stringify({ ingressDomains: domains }).length < bodyMaxBytes.json);
});

/** Limits beyond which the server leaves something out; no caller is refused. */
const withoutRefusal: readonly string[] = ['noticePerSubject', 'refusalInAudit', 'accessRefusalInLog'];

test('every rate limit has room for a person, and a sentence for whom it refuses', (t) => {
  eachCase(t, Object.entries(rateLimits), ([name, { points, windowSeconds, sentence }]) => {
    assert.ok(points >= 5 && windowSeconds >= 60);
    assert.match(sentence, withoutRefusal.includes(name) ? /^$/ : /^[A-Z].*\.$/);
  });
});

test('names the tunnels that use a thing in the refusal to delete it', (t) => {
  const rows: [string[], string][] = [
    [['web'], "Security group 'office' is in use by tunnel 'web'"],
    [['a', 'b'], "Security group 'office' is in use by tunnels 'a', 'b'"],
    [['a', 'b', 'c', 'd', 'e', 'f', 'g'], "Security group 'office' is in use by tunnels 'a', 'b', 'c', 'd', 'e', 2 more"],
  ];
  eachCase(t, rows, ([tunnels, text]) => assert.equal(renderInUse('Security group', 'office', tunnels), text));
});
