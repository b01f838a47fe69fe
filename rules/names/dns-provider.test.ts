import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { adviseRecord, type DnsProviderName, dnsProviderNames, findDnsProvider, recordFor } from './dns-provider.ts';
import { ingressRecord, verificationRecord } from './dns-record.ts';

test('a provider is known by all name servers of the zone', (t) => {
  const rows: [string[], DnsProviderName | undefined, string?][] = [
    [['ada.ns.cloudflare.com', 'bob.ns.cloudflare.com'], 'cloudflare'],
    [['ADA.NS.CLOUDFLARE.COM.'], 'cloudflare', 'case and a final dot'],
    [['ns-2048.awsdns-64.com', 'ns-2050.awsdns-66.co.uk'], 'route53'],
    [['ns-cloud-a1.googledomains.com', 'ns-cloud-a2.googledomains.com'], 'google'],
    [['ns1-01.azure-dns.com', 'ns4-01.azure-dns.info'], 'azure'],
    [['ns51.domaincontrol.com'], 'godaddy'],
    [['dns1.registrar-servers.com'], 'namecheap'],
    [['hydrogen.ns.hetzner.com', 'helium.ns.hetzner.de'], 'hetzner'],
    [['dns10.ovh.net', 'ns10.ovh.net'], 'ovh'],
    [['ns-12-a.gandi.net'], 'gandi'],
    [['ns1.digitalocean.com'], 'digitalocean'],
    [['ns1045.ui-dns.org'], 'ionos'],
    [['maceio.ns.porkbun.com'], 'porkbun'],
    [['ns1.desec.io', 'ns2.desec.org'], 'desec'],
    [[], undefined],
    [['ns1.example.com'], undefined],
    [['ada.ns.cloudflare.com', 'ns1.digitalocean.com'], undefined, 'two providers'],
    [['ada.ns.cloudflare.com.example.com'], undefined, 'a look-alike'],
    [['evilgandi.net'], undefined, 'a look-alike'],
  ];
  eachCase(t, rows, ([servers, name]) => assert.equal(findDnsProvider(servers), name));
});

const dataPlane = { host: 'eu.example.net', ips: ['192.0.2.1'] };
const zone = { apexName: 'example.com', dataPlaneHost: dataPlane.host };
const sub = ingressRecord({ name: 'app.example.com', apexName: 'example.com' }, dataPlane)!;
const apex = ingressRecord({ name: 'example.com', apexName: 'example.com' }, dataPlane)!;

test('a CNAME ends in a dot only where the form needs it, and no other record changes', () => {
  assert.equal(recordFor('hetzner', sub).value, 'eu.example.net.');
  assert.equal(recordFor('cloudflare', sub).value, 'eu.example.net');
  assert.equal(recordFor(undefined, sub), sub);
  for (const name of dnsProviderNames)
    for (const record of [apex, verificationRecord('abc')]) assert.equal(recordFor(name, record), record);
});

test('the advice names the host, the apex, its alias and the proxy in the words of the provider', () => {
  const text = (name: DnsProviderName, record: typeof sub) => adviseRecord(name, record, zone).join(' ');
  assert.match(text('route53', sub), /^Enter the name without \.example\.com: Amazon Route 53 adds it\.$/);
  assert.match(text('route53', apex), /^Leave the name empty: that stands for example\.com\.$/);
  assert.match(text('hetzner', sub), /Keep the dot at the end of the value\./);
  assert.match(text('gandi', apex), /Enter @ as the name.*an ALIAS to eu\.example\.net\. here/);
  assert.match(text('cloudflare', apex), /a CNAME to eu\.example\.net here.*'DNS only'/);
  assert.match(text('cloudflare', sub), /'DNS only'/);
  const proof = verificationRecord('abc');
  assert.deepEqual(adviseRecord('cloudflare', proof, { apexName: 'example.com' }), [
    'Enter @ as the name: it stands for example.com.',
  ]);
});
