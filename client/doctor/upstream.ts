// Checks an upstream as the tunnel will use it: it is reachable, answers, and expects the tunnel's PROXY protocol version.
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ProxyProtocol } from '@underpass/rules/entity.ts';
import { formatUpstream, type Upstream } from '@underpass/rules/upstream.ts';
import { lookUpForSocket } from '../carry/lookup.ts';
import { awaitSocket } from './await-socket.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

export interface UpstreamTarget {
  readonly upstream: Upstream;
  /** The host that a visitor asks for. */
  readonly host: string;
  /** Port of an ingress upstream: 443 speaks TLS, 80 HTTP. Null for http tunnels. */
  readonly port: 80 | 443 | null;
}

export interface UpstreamExpectation {
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
  return [reachable, await checkProxyProtocol(target, place, expected)];
}

async function reach({ host, port }: Upstream): Promise<string | null> {
  const socket = connectTcp({ host, port, lookup: lookUpForSocket });
  const failure = await awaitSocket(socket, 'connect');
  socket.destroy();
  return failure;
}

async function checkProxyProtocol(target: UpstreamTarget, place: string, expected: UpstreamExpectation): Promise<Finding> {
  const check = 'upstream PROXY protocol';
  const asked = expected.proxyProtocol;
  const name = asked || 'none';
  if (await answers(target, proxyHeaders[asked], expected))
    return ok(check, `${place} answers with the tunnel's PROXY protocol setting (${name})`);
  const others = (['', 'v2', 'v1'] as const).filter((version) => version !== asked);
  for (const other of others) {
    if (!(await answers(target, proxyHeaders[other], expected))) continue;
    const wants = other === '' ? 'does not understand the PROXY protocol' : `expects PROXY protocol ${other}`;
    const fix = `Change the upstream, or run "underpass tunnels update ${expected.tunnel ?? 'TUNNEL'} --proxy-protocol ${other || 'off'}".`;
    return problem(check, `${place} ${wants}, and the tunnel sends ${name}`, fix);
  }
  return warning(
    check,
    `${place} accepts connections but sends no readable answer`,
    'Check what listens there, and the certificate with --upstream-ca.',
  );
}

const answerTimeoutMs = 5_000;

/** HTTP: any status except 400, which servers send for bytes that they cannot parse. TLS: a finished handshake. */
async function answers(target: UpstreamTarget, preface: Buffer, expected: UpstreamExpectation): Promise<boolean> {
  const socket = connectTcp({ host: target.upstream.host, port: target.upstream.port, lookup: lookUpForSocket });
  if ((await awaitSocket(socket, 'connect')) !== null) return false;
  try {
    if (preface.length > 0) socket.write(preface);
    if (target.upstream.scheme === 'https') return await httpAnswers(await securely(socket, target, expected), target.host);
    if (target.port === 443) return (await securely(socket, target, { ...expected, insecure: true })) !== null;
    return await httpAnswers(socket, target.host);
  } finally {
    socket.destroy();
  }
}

async function securely(
  socket: Socket,
  target: UpstreamTarget,
  { caPem, insecure }: UpstreamExpectation,
): Promise<Socket | null> {
  const servername = target.upstream.scheme === 'https' ? target.upstream.host : target.host;
  const name = /^[\d.]+$|:/.test(servername) ? {} : { servername };
  const tls = connectTls({ socket, host: servername, ...name, rejectUnauthorized: !insecure, ...(caPem ? { ca: caPem } : {}) });
  return (await awaitSocket(tls, 'secureConnect')) === null ? tls : null;
}

function httpAnswers(socket: Socket | null, host: string): Promise<boolean> {
  if (socket === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    let head = '';
    const timer = setTimeout(() => resolve(false), answerTimeoutMs);
    const settle = () => {
      clearTimeout(timer);
      resolve(/^HTTP\/1\.[01] (?!400)\d{3}/.test(head));
    };
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1');
      if (head.length >= 12) settle();
    });
    socket.on('error', settle).on('close', settle);
    socket.write(`HEAD / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nUser-Agent: underpass-doctor\r\n\r\n`);
  });
}
