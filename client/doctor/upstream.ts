// Checks an upstream as the tunnel will use it: it is reachable, answers, speaks TLS and HTTP/2 exactly where the client does, has a
// certificate that the client trusts, and expects the tunnel's PROXY protocol version.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ProxyProtocol } from '@underpass/rules/entity/entity.ts';
import { formatUpstream, type Upstream, usesHttp2, usesTls } from '@underpass/rules/tunnel/upstream.ts';
import { startsHttp2 } from '@underpass/wire/http/response-head.ts';
import { addressOf, serverNameOf } from '../carry/lookup.ts';
import { problems } from '../carry/problem.ts';
import { speaksTls } from '../carry/tls-check.ts';
import { awaitSocket } from './await-socket.ts';
import { distrustOf, kindOfDistrust } from './certificate-error.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import { checkHost, hostOfUpstream } from './host-check.ts';

export interface UpstreamTarget {
  readonly upstream: Upstream;
  /** The host that a visitor asks for. */
  readonly host: string;
  /** See CarriedHttpUpstream. */
  readonly sentHost?: string;
  /** See HttpUpstream. */
  readonly path?: string;
  /** Port of an ingress upstream: 443 speaks TLS, 80 HTTP. Null for http tunnels; `any` for tcp tunnels, whose protocol is unknown. */
  readonly port: 80 | 443 | null | 'any';
}

/** The name for a tunnel of which only the URL is known. */
export const unknownHost = 'localhost';

interface UpstreamExpectation {
  readonly proxyProtocol: ProxyProtocol;
  /** Name of the tunnel, shown in the fix. */
  readonly tunnel: string | undefined;
  readonly caPem: string | undefined;
  readonly insecure: boolean;
}

/** Headers that name no visitor (UNKNOWN, LOCAL): receivers accept them and use the address of the socket. */
export const proxyHeaders: Readonly<Record<ProxyProtocol, Buffer>> = {
  '': Buffer.alloc(0),
  v1: Buffer.from('PROXY UNKNOWN\r\n'),
  // 12 bytes of signature, version 2 LOCAL, AF_UNSPEC, length 0.
  v2: Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex'),
};

export async function checkUpstream(target: UpstreamTarget, expected: UpstreamExpectation): Promise<readonly Finding[]> {
  const place = formatUpstream(target.upstream);
  const failure = await reach(target.upstream);
  if (failure !== null) {
    return [problem('upstream', `${place}: ${failure}`, 'Start the service there, or correct --upstream.')];
  }
  const reachable = ok('upstream', `${place} accepts connections`);
  if (target.port === 'any') return [reachable];
  return [reachable, ...(await checkAnswer(target, place, expected))];
}

async function reach(upstream: Upstream): Promise<string | null> {
  const socket = connect(addressOf(upstream));
  const failure = await awaitSocket(socket, 'connect');
  socket.destroy();
  return failure;
}

async function checkAnswer(target: UpstreamTarget, place: string, expected: UpstreamExpectation): Promise<readonly Finding[]> {
  const asked = expected.proxyProtocol;
  const others = (['', 'v2', 'v1'] as const).filter((version) => version !== asked);
  for (const version of [asked, ...others]) {
    const answer = await askUnderOwnHost(target, proxyHeaders[version], expected.caPem);
    if (answer === null) continue;
    const certificate = usesTls(target.upstream) ? judgeCertificate(target, place, answer, expected) : [];
    const host = target.port === null && target.host !== unknownHost ? await checkHost(target, proxyHeaders[version]) : [];
    return [...certificate, judgeProxyProtocol(place, version, expected), ...host];
  }
  return [await explainSilence(target, place, expected)];
}

/** Some servers answer 400 to a Host that they do not know. checkHost says so; here any answer will do. */
async function askUnderOwnHost(target: UpstreamTarget, preface: Buffer, caPem: string | undefined): Promise<Answer | null> {
  const answer = await ask(target, preface, talkOf(target), caPem);
  if (answer !== null || target.port !== null) return answer;
  return ask({ ...target, host: hostOfUpstream(target.upstream) }, preface, talkOf(target), caPem);
}

type Talk = Exclude<Upstream['scheme'], 'tcp'> | 'tls';

/** What the client, or the visitor through it, speaks with the upstream. */
function talkOf({ upstream, port }: UpstreamTarget): Talk {
  if (upstream.scheme !== 'tcp') return upstream.scheme;
  return port === 443 ? 'tls' : 'http';
}

function judgeProxyProtocol(place: string, works: ProxyProtocol, { proxyProtocol: asked, tunnel }: UpstreamExpectation): Finding {
  const check = 'upstream PROXY protocol';
  const name = asked || 'none';
  if (works === asked) return ok(check, `${place} answers with the tunnel's PROXY protocol setting (${name})`);
  const wants = works === '' ? 'does not understand the PROXY protocol' : `expects PROXY protocol ${works}`;
  const fix = `Change the upstream, or run "underpass tunnels update ${tunnel ?? 'TUNNEL'} --proxy-protocol ${works || 'off'}".`;
  return problem(check, `${place} ${wants}, and the tunnel sends ${name}`, fix);
}

function judgeCertificate(
  { upstream }: UpstreamTarget,
  place: string,
  { distrust }: Answer,
  { insecure }: UpstreamExpectation,
): readonly Finding[] {
  const check = 'upstream TLS';
  if (distrust === null) return [ok(check, `the certificate of ${place} is trusted`)];
  if (insecure) return [ok(check, `the certificate of ${place} is not checked (--upstream-insecure)`)];
  const why = {
    expired: 'is expired or not yet valid',
    name: `is for another name than ${upstream.host}`,
    untrusted: `is not trusted by this machine (${distrust})`,
  }[kindOfDistrust(distrust)];
  const fix = 'Give its CA with --upstream-ca FILE, or accept any certificate with --upstream-insecure.';
  return [problem(check, `the certificate of ${place} ${why}`, fix)];
}

/** No PROXY header brought an answer: perhaps the upstream speaks TLS where the client does not, or the other way round. */
async function explainSilence(target: UpstreamTarget, place: string, expected: UpstreamExpectation): Promise<Finding> {
  const prefaces = [...new Set([proxyHeaders[expected.proxyProtocol], proxyHeaders['']])];
  for (const preface of prefaces) {
    const scheme = await otherScheme(target, preface);
    if (scheme !== null) return wrongScheme(target, place, scheme);
    if (usesHttp2(target.upstream)) continue;
    const isOther = await (talkOf(target) === 'http' ? speaksTls(target.upstream, preface) : ask(target, preface, 'http'));
    if (isOther) return wrongTalk(target, place);
  }
  return warning(
    'upstream',
    `${place} accepts connections but sends no readable answer`,
    'Check what listens there, and its log.',
  );
}

/** Schemes to which a service might answer instead: gRPC speaks HTTP/2 alone, and some services no HTTP/2 at all. */
const otherSchemes = {
  http: ['h2c'],
  https: ['https+h2'],
  h2c: ['https+h2', 'http'],
  'https+h2': ['https', 'h2c', 'http'],
  tcp: [],
} as const satisfies Readonly<Record<Upstream['scheme'], readonly Talk[]>>;

async function otherScheme(target: UpstreamTarget, preface: Buffer): Promise<Talk | null> {
  for (const scheme of otherSchemes[target.upstream.scheme]) {
    if ((await ask(target, preface, scheme)) !== null) return scheme;
  }
  return null;
}

function wrongScheme({ upstream }: UpstreamTarget, place: string, scheme: Talk): Finding {
  const words = `${place} answers to ${scheme}://, and --upstream says ${upstream.scheme}://`;
  return problem('upstream HTTP', words, `Write it with ${scheme}:// in --upstream.`);
}

function wrongTalk({ upstream, port }: UpstreamTarget, place: string): Finding {
  if (port === 443) {
    const fix = 'Visitors of an ingress tunnel speak TLS with the upstream: give a port with TLS, or use an http tunnel.';
    return problem('upstream TLS', `${place} speaks plain HTTP, and port 443 of the tunnel carries TLS`, fix);
  }
  if (port === 80) {
    const fix = 'Give a port that speaks plain HTTP with --upstream 80=HOST:PORT.';
    return problem('upstream TLS', `${place} speaks TLS, and port 80 of the tunnel carries plain HTTP`, fix);
  }
  if (upstream.scheme === 'http') {
    const { fix } = problems['upstream-speaks-tls'];
    return problem('upstream TLS', `${place} speaks TLS, and --upstream says http://`, fix);
  }
  return problem(
    'upstream TLS',
    `${place} speaks plain HTTP, and --upstream says https://`,
    'Write it with http:// in --upstream.',
  );
}

const answerTimeoutMs = 5_000;

interface Answer {
  /** Why the certificate is not trusted: OpenSSL's code. Null if it is trusted, or there is none. */
  readonly distrust: string | null;
}

/** HTTP: any status except 400, which servers send for bytes that they cannot parse. TLS: a finished handshake. */
async function ask(target: UpstreamTarget, preface: Buffer, talk: Talk, caPem?: string): Promise<Answer | null> {
  const socket = connect(addressOf(target.upstream));
  try {
    if ((await awaitSocket(socket, 'connect')) !== null) return null;
    if (preface.length > 0) socket.write(preface);
    if (talk === 'http' || talk === 'h2c') return (await answers(socket, target.host, talk)) ? { distrust: null } : null;
    const host = talk === 'tls' ? target.host : target.upstream.host;
    const ca = caPem === undefined ? {} : { ca: caPem };
    const alpn = talk === 'https+h2' ? { ALPNProtocols: ['h2'] } : {};
    const tls = connectTls({ socket, host, ...serverNameOf(host), ...ca, ...alpn, rejectUnauthorized: false });
    if ((await awaitSocket(tls, 'secureConnect')) !== null) return null;
    const distrust = distrustOf(tls);
    return talk === 'tls' || (await answers(tls, target.host, talk)) ? { distrust } : null;
  } finally {
    socket.destroy();
  }
}

/** RFC 9113 3.4: what a client sends first, with empty SETTINGS. The server answers with its own. */
const http2Preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]);

function answers(socket: Socket, host: string, talk: Talk): Promise<boolean> {
  const speaks2 = talk === 'h2c' || talk === 'https+h2';
  return new Promise((resolve) => {
    let head = Buffer.alloc(0);
    const timer = setTimeout(() => resolve(false), answerTimeoutMs);
    const settle = () => {
      clearTimeout(timer);
      resolve(speaks2 ? startsHttp2(head, 0) : /^HTTP\/1\.[01] (?!400)\d{3}/.test(head.toString('latin1')));
    };
    socket.on('data', (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      if (head.length >= 12) settle();
    });
    socket.on('error', settle).on('close', settle);
    if (speaks2) socket.write(http2Preface);
    else socket.write(`HEAD / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nUser-Agent: underpass-doctor\r\n\r\n`);
  });
}
