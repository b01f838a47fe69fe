// Underpass as its users run it: an edge process and the `underpass` command, with every feature on.
import { createHash, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VisitorClaims } from '@underpass/rules/visit/grants.ts';
import type { FeedVisit } from '@underpass/wire/feed.ts';
import { sealVisit } from '@underpass/wire/visit-seal.ts';
import { makeCertificate, type Peer, type Running, type Setup } from './peer.ts';
import { firstJson, start } from './processes.ts';

/** A compiled client to measure instead of the source. */
const clientProgram = process.env.BENCH_CLIENT;
const clientMain = join(import.meta.dirname, '../../client/main.ts');
const edgeMain = join(import.meta.dirname, '../underpass-edge.ts');

/** As many as there are idle WebSockets: each visitor has a session of their own. */
const visitors = 5_000;

function createVisit({ host, folder }: Setup): { readonly visit: FeedVisit; readonly cookieFile: string } {
  const sealKey = randomBytes(32);
  const expiresAtMs = Date.now() + 86_400_000;
  const people = Array.from({ length: visitors }, (_, index) => `visitor-${index}@example.com`);
  const cookies = people.map((email) => {
    const who = { method: 'email', subject: email, email, groups: [], source: '' } as const;
    const claims: VisitorClaims = { ...who, signedInAtMs: Date.now(), expiresAtMs };
    return `__Host-underpass-access=${sealVisit(sealKey, 'session', host, { claims, untilMs: expiresAtMs })}`;
  });
  const cookieFile = join(folder, 'cookies');
  writeFileSync(cookieFile, cookies.join('\n'), { mode: 0o600 });
  return { visit: visitOf(sealKey), cookieFile };
}

const visitOf = (sealKey: Buffer): FeedVisit => ({
  policyId: 'policy',
  allowList: ['0.0.0.0/0', '::/0'],
  sealKey: sealKey.toString('base64url'),
  assertionKeyPem: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string,
  assertionKeyId: 'key',
  origin: 'https://control.localhost',
  rules: [
    { path: '/public/*', action: 'public' },
    { path: '/admin/*', action: 'deny' },
  ],
  grants: {
    memberIds: null,
    people: ['*@example.com'],
    provider: null,
    passwordId: null,
    links: [],
    validFromMs: 0,
    signedOut: [],
  },
  tokens: [],
  tokenHeader: 'authorization',
});

interface Extras {
  readonly options?: readonly string[];
  readonly guarded?: boolean;
}

async function startUnderpass(setup: Setup, carries: Peer['carries'], { options = [], guarded }: Extras = {}): Promise<Running> {
  const isHttp = carries === 'https';
  const { folder, host, regionHost, edgeAddress: address } = setup;
  const guard = guarded === true ? createVisit(setup) : undefined;
  const { certificate } = makeCertificate(setup.folder, setup.host, regionHost);
  const token = randomBytes(32).toString('base64url');
  const tokenFile = join(setup.folder, 'token');
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const tokenHash = createHash('sha256').update(token).digest('hex');
  const edge = start(process.execPath, [
    edgeMain,
    JSON.stringify({ folder, address, host, regionHost, tokenHash, type: isHttp ? 'http' : 'ingress', visit: guard?.visit }),
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
  const client = setup.startAtClient(program, [...first, ...carried, ...options, '--url', url, '--token-file', tokenFile]);
  await connected(client.child.stdout);
  const port = isHttp ? ports.https : ports.http;
  const running = { address, port, tls: isHttp, edgeSide: [edge], clientSide: [client] };
  return guard === undefined ? running : { ...running, cookieFile: guard.cookieFile };
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
  start: (setup) => startUnderpass(setup, 'https', { options: ['--inspect'] }),
};
/** Each visitor has a session of their own. */
export const underpassGuarded: Peer = {
  name: 'underpass, access policy',
  carries: 'https',
  needs,
  start: (setup) => startUnderpass(setup, 'https', { guarded: true }),
};
export const underpassTcp: Peer = { name: 'underpass', carries: 'tcp', needs, start: (setup) => startUnderpass(setup, 'tcp') };
