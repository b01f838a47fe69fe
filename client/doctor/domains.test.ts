import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckedDomain } from '@underpass/rules/entity/resource.ts';
import { judgeDomains } from './domains.ts';

const domain = (name: string, verified = true) => ({ name, apexName: 'example.com', verified, url: `https://${name}` });
const answer = (...domains: CheckedDomain[]) => ({ dataPlaneHost: 'eu.example.net', dataPlaneIps: ['192.0.2.1'], domains });

test('names each domain that visitors cannot reach, with the record to set', () => {
  const tunnel = { ingressDomains: ['a', 'b', 'c', 'd'].map((label) => domain(`${label}.example.com`, label !== 'd')) };
  const findings = judgeDomains(
    tunnel,
    answer(
      { name: 'a.example.com', ips: ['192.0.2.1'] },
      { name: 'b.example.com', ips: ['198.51.100.7'] },
      { name: 'c.example.com', unchecked: 'unanswered' },
      { name: 'd.example.com', unchecked: 'unverified' },
    ),
  );
  assert.deepEqual(
    findings.map(({ state, detail, fix }) => [state, detail, fix]),
    [
      ['ok', '1 leads to the region', undefined],
      [
        'problem',
        'b.example.com: Found: 198.51.100.7. Expected: 192.0.2.1.',
        'Set this record in the DNS zone of example.com: b CNAME eu.example.net',
      ],
      [
        'problem',
        'd.example.com: Prove that you own example.com.',
        'Run "underpass domains verify example.com"; it shows the record to set.',
      ],
      ['skipped', 'c.example.com: The name servers did not answer.', undefined],
    ],
  );
});

test('shows ten of many, and counts the problems among the others', () => {
  const names = Array.from({ length: 50 }, (_, at) => `n${at}.example.com`);
  const findings = judgeDomains(
    { ingressDomains: names.map((name) => domain(name)) },
    answer(...names.map((name) => ({ name, ips: [] }))),
  );
  assert.deepEqual([findings.length, findings.at(-1)?.state, findings.at(-1)?.detail], [11, 'problem', '40 more, not shown']);
});
