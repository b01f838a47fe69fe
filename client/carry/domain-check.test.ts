import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseUpstreams } from '../config/tunnel-config.ts';
import type { CarryEvent } from './api.ts';
import { createDomainCheck } from './domain-check.ts';

function domainCheck(type: 'http' | 'ingress', ...texts: string[]) {
  const parsed = parseUpstreams(type, texts);
  assert.ok(parsed.ok);
  const events: CarryEvent[] = [];
  return { ...createDomainCheck(parsed.value, (event) => events.push(event)), events };
}

const url = 'http://127.0.0.1:1';
const shop = `shop.example.com=${url}`;
const sixteen = Array.from({ length: 16 }, (_, index) => `https://n${index}.example.com`);

for (const { name, of, urls, detail } of [
  { name: 'a domain of the tunnel', of: [shop], urls: ['https://shop.example.com:8443'], detail: undefined },
  { name: 'an upstream for all domains', of: [url], urls: [], detail: undefined },
  { name: 'a domain while the edge sends no addresses', of: [shop], urls: undefined, detail: undefined },
  { name: 'a domain missing from a list that may be incomplete', of: [shop], urls: sixteen, detail: undefined },
  { name: 'a domain below a wildcard of the tunnel', of: [shop], urls: ['https://*.example.com:8443'], detail: undefined },
  {
    name: 'a misspelt domain',
    of: [`shpo.example.com=${url}`, `www.example.com=${url}`, url],
    urls: ['https://shop.example.com', 'https://www.example.com'],
    detail: 'shpo.example.com; the tunnel has shop.example.com, www.example.com',
  },
  {
    name: 'a domain of a tunnel without verified domains',
    of: [shop, `b.example.com=${url}`],
    urls: [],
    detail: 'shop.example.com, b.example.com; the tunnel has none',
  },
]) {
  test(`${name} ${detail === undefined ? 'is no problem' : 'is reported with the domains of the tunnel'}`, () => {
    const { update, problem } = domainCheck('http', ...of);
    update(urls);
    assert.equal(problem()?.detail, detail);
  });
}

test('reports nothing for an ingress tunnel, which has ports instead of domains', () => {
  const { update, problem } = domainCheck('ingress', '127.0.0.1');
  update([]);
  assert.equal(problem(), null);
});

test('reports a domain once, not for each carrier, until the tunnel has it', () => {
  const { update, problem, events } = domainCheck('http', shop);
  for (const _ of ['one carrier', 'the other']) update([]);
  assert.deepEqual(events, [{ kind: 'doubt', problem: problem() }]);
  update(['https://www.example.com']);
  assert.notEqual(problem(), null);
  update(['https://www.example.com', 'https://shop.example.com']);
  assert.equal(problem(), null);
});
