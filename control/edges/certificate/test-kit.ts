// Starts what tests of certificates need: Debian's pebble (an ACME authority), Debian's knot (a DNS server that takes updates),
// and ports that answer challenges as an edge does.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecureContext, createServer as createTlsServer } from 'node:tls';
import type { FeedChallenge } from '@underpass/wire/feed/feed.ts';
import { freePorts } from '../../../tests/helpers/port.ts';
import { requireTool } from '../../../tests/helpers/tool.ts';
import type { TsigKey } from './rfc2136/message.ts';
import { createRoot, issueLeaf } from './x509.ts';

export const makeFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'underpass-certificates-'));
export const dropFolder = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });

/** Resolves once the program prints the text. Rejects with the whole output if the program ends first or takes longer than a minute. */
function printed(child: ChildProcessWithoutNullStreams, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (): void => reject(new Error(`no "${text}" in: ${output}`));
    const timer = setTimeout(fail, 60_000);
    const read = (chunk: Buffer): void => {
      output += chunk;
      if (!output.includes(text)) return;
      clearTimeout(timer);
      resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', fail);
  });
}

/** Waits until the port accepts: pebble prints its address a moment before it listens. */
async function listens(child: ChildProcessWithoutNullStreams, port: number): Promise<void> {
  for (let tries = 0; child.exitCode === null && tries < 2_400; tries++) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'close').then(() => false)]).catch(
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await delay(25);
  }
  throw new Error(`nothing listens on port ${port}`);
}

async function stop(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

export interface TestDns {
  readonly port: number;
  readonly zone: string;
  readonly key: TsigKey;
  readonly close: () => Promise<void>;
}

/** knot with one zone in which every name resolves to 127.0.0.1. */
export async function startDns(folder: string, zone: string, more: readonly string[] = []): Promise<TestDns> {
  const [port = 0] = await freePorts(1);
  const key = { name: 'update-key', secret: randomBytes(32).toString('base64') };
  const zoneFile = join(folder, 'zone');
  const records = [
    `$ORIGIN ${zone}.`,
    '$TTL 1',
    '@ SOA ns admin 1 60 60 60 1',
    '@ NS ns',
    '@ A 127.0.0.1',
    '* A 127.0.0.1',
    'ns A 127.0.0.1',
    ...more,
  ];
  await writeFile(zoneFile, `${records.join('\n')}\n`);
  const config = `
server:
    listen: 127.0.0.1@${port}
    rundir: ${folder}
    pidfile: ${folder}/knot.pid
database:
    storage: ${folder}
log:
  - target: stderr
    any: info
key:
  - id: ${key.name}
    algorithm: hmac-sha256
    secret: ${key.secret}
acl:
  - id: update
    key: ${key.name}
    action: update
zone:
  - domain: ${zone}
    file: ${zoneFile}
    acl: update
    zonefile-sync: -1
`;
  await writeFile(join(folder, 'knot.conf'), config);
  const child = spawn(requireTool('knotd'), ['-c', join(folder, 'knot.conf')]);
  await printed(child, 'server started');
  return { port, zone, key, close: () => stop(child) };
}

export interface TestResolver {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** unbound, which asks each zone's own server, keeps nothing, and follows a CNAME from one to another. */
export async function startResolver(folder: string, zones: readonly Pick<TestDns, 'zone' | 'port'>[]): Promise<TestResolver> {
  const [port = 0] = await freePorts(1);
  const stubs = zones.map(({ zone, port: at }) => `stub-zone:\n  name: "${zone}"\n  stub-addr: 127.0.0.1@${at}`);
  const config = `
server:
  interface: 127.0.0.1
  port: ${port}
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: "${folder}/unbound.pid"
  use-syslog: no
  do-daemonize: no
  do-not-query-localhost: no
  module-config: "iterator"
  cache-max-ttl: 0
  cache-max-negative-ttl: 0
  local-zone: "test." nodefault
  verbosity: 1
remote-control:
  control-enable: no
${stubs.join('\n')}
`;
  await writeFile(join(folder, 'unbound.conf'), config);
  const child = spawn(requireTool('unbound'), ['-d', '-c', join(folder, 'unbound.conf')]);
  await printed(child, 'start of service');
  return { port, close: () => stop(child) };
}

export interface TestAuthority {
  readonly directory: string;
  /** PEM of the root that signed the directory's own TLS certificate. */
  readonly ca: string;
  readonly close: () => Promise<void>;
}

/** pebble, which looks for proofs at these ports. It refuses one nonce in seven, so that the client has to retry. */
export async function startPebble(
  folder: string,
  dnsPort: number,
  ports: { http: number; tls: number },
  /** HMAC keys (base64url) by key id, if pebble is to require that every account is bound to one of them. */
  externalAccounts?: Readonly<Record<string, string>>,
): Promise<TestAuthority> {
  const [port = 0, managementPort = 0] = await freePorts(2);
  const span = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) };
  const root = await createRoot('test', span);
  const leaf = await issueLeaf(root, ['localhost'], span);
  await writeFile(join(folder, 'pebble.pem'), leaf.certificatePem);
  await writeFile(join(folder, 'pebble-key.pem'), leaf.privateKeyPem);
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: join(folder, 'pebble.pem'),
    privateKey: join(folder, 'pebble-key.pem'),
    httpPort: ports.http,
    tlsPort: ports.tls,
    ocspResponderURL: '',
    externalAccountBindingRequired: externalAccounts !== undefined,
    ...(externalAccounts === undefined ? {} : { externalAccountMACKeys: externalAccounts }),
  };
  await writeFile(join(folder, 'pebble.json'), JSON.stringify({ pebble }));
  const env = { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '15', PEBBLE_AUTHZREUSE: '0' };
  const args = ['-config', join(folder, 'pebble.json'), '-dnsserver', `127.0.0.1:${dnsPort}`];
  const child = spawn(requireTool('pebble'), args, { env });
  await printed(child, 'ACME directory available at');
  await listens(child, port);
  return { directory: `https://localhost:${port}/dir`, ca: root.certificatePem, close: () => stop(child) };
}

export interface ChallengePorts {
  readonly http: number;
  readonly tls: number;
  /** The requests so far, in order: `http-01 host` or `tls-alpn-01 host`. */
  readonly asked: readonly string[];
  readonly close: () => Promise<void>;
}

/** Answers challenges as an edge does, from what `held` returns at that moment. */
export async function openChallengePorts(held: () => readonly FeedChallenge[]): Promise<ChallengePorts> {
  const asked: string[] = [];
  const http = createServer((request, response) => {
    const host = request.headers.host?.split(':')[0];
    const token = request.url?.split('/').pop();
    const found = held().find((each) => each.kind === 'http-01' && each.host === host && each.token === token);
    asked.push(`http-01 ${host}`);
    response.statusCode = found === undefined ? 404 : 200;
    response.end(found?.kind === 'http-01' ? found.keyAuthorization : '');
  }).listen(0, '127.0.0.1');
  const tls = createTlsServer({
    ALPNProtocols: ['acme-tls/1'],
    SNICallback: (host, done) => {
      asked.push(`tls-alpn-01 ${host}`);
      const found = held().find((each) => each.kind === 'tls-alpn-01' && each.host === host);
      if (found?.kind !== 'tls-alpn-01') return done(new Error('no such host'));
      done(null, createSecureContext({ cert: found.certificatePem, key: found.privateKeyPem }));
    },
  }).listen(0, '127.0.0.1');
  tls.on('tlsClientError', () => {});
  await Promise.all([once(http, 'listening'), once(tls, 'listening')]);
  return {
    http: (http.address() as AddressInfo).port,
    tls: (tls.address() as AddressInfo).port,
    asked,
    close: async () => {
      for (const server of [http, tls]) server.close();
      http.closeAllConnections();
      await Promise.all([once(http, 'close'), once(tls, 'close')]);
    },
  };
}
