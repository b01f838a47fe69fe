import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { createAcmeAuthority } from '@underpass/control/edges/certificate/acme/authority.ts';
import { createAccountKeyPem } from '@underpass/control/edges/certificate/acme/jws.ts';
import { dropChallenge, saveChallenge } from '@underpass/control/edges/certificate/certificate-rows.ts';
import { startDns, startPebble, type TestAuthority, type TestDns } from '@underpass/control/edges/certificate/test-kit.ts';
import { FeedHub } from '@underpass/control/edges/feed/hub.ts';
import { addProject, addRegion, addTunnel, silentLog } from '@underpass/control/edges/feed/test-kit.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { freePorts } from '../tests/helpers/port.ts';
import { openEdge } from './serve/edge-part.ts';
import { openState } from './state/state.ts';
import { dropHome, makeHome, openServer, signIn, type TestServer, testSettings } from './test-kit.ts';

const zone = 'example.test';
const ports = { http: 0, tls: 0 };
let folder: string;
let dns: TestDns;
let pebble: TestAuthority;

before(async () => {
  folder = await makeHome();
  dns = await startDns(folder, zone);
  [ports.http = 0, ports.tls = 0] = await freePorts(2);
  pebble = await startPebble(folder, dns.port, ports);
  await writeFile(join(folder, 'pebble-ca.pem'), pebble.ca);
});
after(async () => {
  await Promise.all([pebble.close(), dns.close()]);
  await dropHome(folder);
});

const edgePorts = () => ({ UNDERPASS_EDGE_HTTP_PORT: String(ports.http), UNDERPASS_EDGE_HTTPS_PORT: String(ports.tls) });

const acmeSettings = () => ({
  ...edgePorts(),
  UNDERPASS_ORIGIN: `https://console.${zone}:${ports.tls}`,
  UNDERPASS_DATA_PLANE_HOST: `eu.${zone}`,
  UNDERPASS_WILDCARD_DOMAIN: `tunnels.${zone}`,
  UNDERPASS_DNS_SERVERS: `127.0.0.1:${dns.port}`,
  UNDERPASS_ACME_DIRECTORY: pebble.directory,
  UNDERPASS_ACME_CA_FILE: join(folder, 'pebble-ca.pem'),
  UNDERPASS_RFC2136_SERVER: `127.0.0.1:${dns.port}`,
  UNDERPASS_RFC2136_ZONE: zone,
  UNDERPASS_RFC2136_KEY_NAME: dns.key.name,
  UNDERPASS_RFC2136_KEY: dns.key.secret,
});

/** The names and the issuer of the certificate that the edge shows for a host; null if it shows none. */
async function shown(host: string): Promise<{ names: string; issuer: string } | null> {
  const socket = connect({ host: '127.0.0.1', port: ports.tls, servername: host, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect');
    const certificate = new X509Certificate(socket.getPeerCertificate().raw);
    return { names: certificate.subjectAltName ?? '', issuer: certificate.issuer };
  } catch {
    return null;
  } finally {
    socket.destroy();
  }
}

describe('a server with an ACME authority (pebble) and RFC 2136 (knot)', () => {
  let home: string;
  let server: TestServer;

  before(async () => {
    home = await makeHome();
    server = await openServer(home, acmeSettings());
  });
  after(async () => {
    await server.running.close();
    await dropHome(home);
  });

  test('gets a certificate for the host of the region by http-01 through its own edge', async () => {
    const found = await eventually(
      () => shown(`eu.${zone}`),
      (each) => each !== null,
    );
    assert.equal(found?.names, `DNS:eu.${zone}`);
    assert.match(found?.issuer ?? '', /Pebble/);
  });

  test('serves the dashboard on the same port, with a certificate that the same edge proved', async () => {
    const found = await eventually(
      () => shown(`console.${zone}`),
      (each) => each !== null,
    );
    assert.equal(found?.names, `DNS:console.${zone}`);
    assert.match(found?.issuer ?? '', /Pebble/);
  });

  test('serves a generated name under the wildcard that dns-01 proved, and its tunnel is Created', async () => {
    const browser = await signIn(server);
    const { defaultProject: project } = await browser.read<{ defaultProject: string }>('/api/user');
    const body = { name: 'web', region: 'local', ingressDomains: [], proxyProtocol: '', type: 'http' };
    assert.ok((await browser.send('POST', `/api/tunnels?project=${project}`, body)).ok);
    const path = `/api/tunnels/web?project=${project}`;
    const tunnel = await eventually(
      () => browser.read<Tunnel>(path),
      (each) => each.status === 'Created',
      30_000,
    );
    assert.doesNotMatch(tunnel.url, /#/, 'nothing is pinned where the authority is public');
    const found = await shown(tunnel.ingressDomains[0]?.name ?? '');
    assert.equal(found?.names, `DNS:*.tunnels.${zone}`);
  });
});

test('a real edge answers tls-alpn-01', async () => {
  const home = await makeHome();
  const settings = testSettings(home, edgePorts());
  const state = await openState(settings, silentLog);
  const { store, bus, keyRing, clock } = state;
  await addRegion(store.db, 'local', { host: `eu.${zone}` });
  await addTunnel(store.db, {
    ...(await addProject(store.db, 'ann')),
    region: 'local',
    name: 'shop',
    type: 'http',
    hosts: [`shop.${zone}`],
  });
  const hub = new FeedHub({
    store,
    bus,
    keyRing,
    clock,
    log: silentLog,
    givenCertificates: () => [],
    origin: 'https://console.example.com',
    keyOpens: async () => true,
  });
  await hub.start();
  const dial = async () => {
    const [ours, theirs] = duplexPair();
    hub.accept(theirs, { region: 'local' });
    return ours;
  };
  const edge = await openEdge(settings, dial, silentLog);
  const authority = createAcmeAuthority({
    directory: pebble.directory,
    ca: pebble.ca,
    accountKey: async () => createAccountKeyPem(),
    showAtEdges: async (region, challenge) => {
      assert.equal(challenge.kind, 'tls-alpn-01');
      await saveChallenge(store, keyRing, region, challenge, clock());
      hub.challengesChanged();
      await hub.delivered(region);
      return () => dropChallenge(store, challenge.id);
    },
    clock,
  });
  const { signal } = new AbortController();
  const issued = await authority.issue({ name: `shop.${zone}`, region: 'local', failures: 1, signal });
  assert.equal(new X509Certificate(issued.chainPem).subjectAltName, `DNS:shop.${zone}`);
  await edge.close();
  await hub.close();
  await state.close();
  await dropHome(home);
});

test('control orders certificates only once the edge of the same process can prove the names', async () => {
  const [http = 0, https = 0] = await freePorts(2);
  const asked = Promise.withResolvers<string>();
  const authority = createServer((socket) => {
    socket.destroy();
    const proof = dial(http, '127.0.0.1', () => asked.resolve('the edge listens'));
    proof.on('error', ({ message }) => asked.resolve(message)).on('connect', () => proof.destroy());
  }).listen(0, '127.0.0.1');
  await once(authority, 'listening');
  const home = await makeHome();
  const server = await openServer(home, {
    ...acmeSettings(),
    UNDERPASS_ORIGIN: `https://console.${zone}:${https}`,
    UNDERPASS_EDGE_HTTP_PORT: String(http),
    UNDERPASS_EDGE_HTTPS_PORT: String(https),
    UNDERPASS_ACME_DIRECTORY: `https://127.0.0.1:${(authority.address() as AddressInfo).port}/directory`,
  });
  assert.equal(await asked.promise, 'the edge listens');
  await server.running.close();
  authority.close();
  await dropHome(home);
});
