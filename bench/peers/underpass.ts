// Underpass as its users run it: an edge process and the `underpass` command, with every feature on.
import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificate, type Peer, type Running, type Setup } from './peer.ts';
import { firstJson, start } from './processes.ts';

const regionHost = 'region.localhost';
/** A compiled client to measure instead of the source. */
const clientProgram = process.env.BENCH_CLIENT;
const clientMain = join(import.meta.dirname, '../../client/main.ts');
const edgeMain = join(import.meta.dirname, '../underpass-edge.ts');

async function startUnderpass(setup: Setup, carries: Peer['carries'], more: readonly string[] = []): Promise<Running> {
  const isHttp = carries === 'https';
  const { certificate } = makeCertificate(setup.folder, setup.host, regionHost);
  const token = randomBytes(32).toString('base64url');
  const tokenFile = join(setup.folder, 'token');
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const tokenHash = createHash('sha256').update(token).digest('hex');
  const edge = start(process.execPath, [
    edgeMain,
    JSON.stringify({ folder: setup.folder, host: setup.host, regionHost, tokenHash, type: isHttp ? 'http' : 'ingress' }),
  ]);
  const ports = await firstJson<{ https: number; http: number }>(edge);
  const authority = createHash('sha256')
    .update(new X509Certificate(readFileSync(certificate)).raw)
    .digest('hex');
  const url = `https://${regionHost}:${ports.https}#ca=${authority}`;
  const upstream = `127.0.0.1:${setup.originPort}`;
  const carried = isHttp
    ? ['http', '--upstream', `http://${upstream}`]
    : ['ingress', '--upstream', `80=${upstream}`, '--upstream', `443=${upstream}`];
  const [program = '', ...first] = clientProgram === undefined ? [process.execPath, clientMain] : [clientProgram];
  const client = start(program, [...first, ...carried, ...more, '--url', url, '--token-file', tokenFile]);
  await connected(client.child.stdout);
  return { port: isHttp ? ports.https : ports.http, tls: isHttp, edgeSide: [edge], clientSide: [client] };
}

function connected(lines: NodeJS.ReadableStream | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the client did not connect')), 15_000);
    lines?.on('data', (data: Buffer) => {
      if (!/connected/i.test(data.toString())) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

const needs = ['openssl'];
export const underpassHttps: Peer = {
  name: 'underpass',
  carries: 'https',
  needs,
  start: (setup) => startUnderpass(setup, 'https'),
};
/** With the inspector on and no page open. */
export const underpassInspected: Peer = {
  name: 'underpass, inspected',
  carries: 'https',
  needs,
  start: (setup) => startUnderpass(setup, 'https', ['--inspect']),
};
export const underpassTcp: Peer = { name: 'underpass', carries: 'tcp', needs, start: (setup) => startUnderpass(setup, 'tcp') };
