// Checks the way to a host step by step: proxy, name, TCP, TLS. The first step that fails says what to do; the rest is skipped.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import { isLoopbackHost } from '@underpass/rules/tunnel/upstream.ts';
import { adaptControl, offeredControls, readTcpInfo } from '@underpass/wire/path/tcp-path.ts';
import { lookUp, lookUpForSocket } from '../carry/lookup.ts';
import { CarryError, problems } from '../carry/problem.ts';
import { connectThroughProxy } from '../carry/proxy-connect.ts';
import type { Io } from '../process/io.ts';
import { chooseProxy, type HttpProxy } from '../process/proxy.ts';
import { awaitSocket } from './await-socket.ts';
import { distrustOf, kindOfDistrust } from './certificate-error.ts';
import { judgeCongestion } from './congestion.ts';
import { type Finding, ok, problem, skipped } from './finding.ts';

interface CheckedAddress {
  /** What the user calls it: 'server' or 'region'. */
  readonly what: string;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** SHA-256 of the only CA to trust; null means the system's CAs. */
  readonly pin: string | null;
  readonly caPem: string | undefined;
}

export async function checkPath(io: Io, checked: CheckedAddress): Promise<readonly Finding[]> {
  const proxy = checkProxy(io, checked);
  if (proxy.finding?.state === 'problem') return [proxy.finding];
  const first = proxy.finding ? [proxy.finding] : [];
  const target = proxy.chosen ?? checked;
  const name = await checkName(checked.what, target.host, proxy.chosen !== null);
  if (name.state === 'problem') return [...first, name, skipped(name.check.replace(/DNS$/, 'TCP'), 'no address')];
  const [tcp, ...congestion] = await checkTcp(checked, target, proxy.chosen !== null);
  if (tcp.state === 'problem' || !checked.tls) return [...first, name, tcp, ...congestion];
  return [...first, name, tcp, ...congestion, ...(await checkTls(checked, proxy.chosen))];
}

function checkProxy(io: Io, { what, host, port, tls }: CheckedAddress): { chosen: HttpProxy | null; finding: Finding | null } {
  if (!tls) return { chosen: null, finding: null };
  const parsed = chooseProxy(io.env, host, port);
  const { title, fix } = problems['proxy-invalid'];
  if (!parsed.ok) return { chosen: null, finding: problem(`${what} proxy`, title, fix) };
  const chosen = parsed.value;
  if (chosen === null) return { chosen, finding: null };
  return { chosen, finding: ok(`${what} proxy`, `through ${chosen.host}:${chosen.port} (HTTPS_PROXY)`) };
}

async function checkName(what: string, host: string, isProxy: boolean): Promise<Finding> {
  const check = isProxy ? `${what} proxy DNS` : `${what} DNS`;
  try {
    const found = await lookUp(host);
    return ok(check, `${host} is ${found.map(({ address }) => address).join(', ')}`);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'no answer';
    const spelling = isProxy ? 'Check HTTPS_PROXY.' : 'Check the spelling of the address.';
    return problem(
      check,
      `${host} does not resolve (${code})`,
      `${spelling} Check the DNS of this machine and its connection to the internet.`,
    );
  }
}

async function checkTcp(
  checked: CheckedAddress,
  { host, port }: Pick<CheckedAddress, 'host' | 'port'>,
  isProxy: boolean,
): Promise<[Finding, ...Finding[]]> {
  const check = isProxy ? `${checked.what} proxy TCP` : `${checked.what} TCP`;
  const socket = connectTcp({ host, port, lookup: lookUpForSocket });
  const failure = await awaitSocket(socket, 'connect');
  const address = socket.remoteAddress;
  const congestion = failure === null && checked.what === 'region' ? readCongestion(socket) : [];
  socket.destroy();
  if (failure === null) return [ok(check, `port ${port} of ${address ?? host} accepts connections`), ...congestion];
  return [problem(check, `port ${port} of ${host}: ${failure}`, adviseTcp(checked, `${host}:${port}`, isProxy))];
}

/** Nothing where the system does not say. */
function readCongestion(socket: Socket): readonly Finding[] {
  const control = adaptControl(socket);
  const path = readTcpInfo(socket);
  return control === null || path === null ? [] : [judgeCongestion(control, path.minRttMs, offeredControls())];
}

/** HTTPS_PROXY helps only where the client would use it: not on this machine, and not for plain http. */
export function adviseTcp(
  { what, host, tls }: Pick<CheckedAddress, 'what' | 'host' | 'tls'>,
  target: string,
  isProxy: boolean,
): string {
  if (isProxy) return `Check HTTPS_PROXY, or exempt ${host} with NO_PROXY.`;
  if (isLoopbackHost(host)) return `Start the ${what} on this machine, or correct its address.`;
  return `Allow outgoing connections to ${target} in the firewall${tls ? ', or set HTTPS_PROXY' : ''}.`;
}

async function checkTls(checked: CheckedAddress, proxy: HttpProxy | null): Promise<readonly Finding[]> {
  if (proxy === null)
    return [await checkCertificate(checked, connectTcp({ host: checked.host, port: checked.port, lookup: lookUpForSocket }))];
  try {
    return [await checkCertificate(checked, await connectThroughProxy(proxy, checked, new AbortController().signal))];
  } catch (error) {
    if (!(error instanceof CarryError)) throw error;
    const { title, fix } = problems[error.problem.code];
    return [problem(`${checked.what} proxy`, `${title}: ${error.problem.detail}`, fix)];
  }
}

async function checkCertificate({ what, host, pin, caPem }: CheckedAddress, under: Socket): Promise<Finding> {
  const check = `${what} TLS`;
  const name = isIP(host) ? {} : { servername: host };
  const socket = connectTls({ socket: under, host, rejectUnauthorized: false, ...name, ...(caPem ? { ca: caPem } : {}) });
  const failure = await awaitSocket(socket, 'secureConnect');
  const finding = failure === null ? judgeCertificate(check, host, socket, pin) : notTls(check, host, failure);
  (socket as Socket).destroy();
  return finding;
}

function notTls(check: string, host: string, failure: string): Finding {
  return problem(
    check,
    `${host}: ${failure}`,
    'Something on the way breaks TLS, such as a captive portal, a proxy or a firewall. Try another network.',
  );
}

/** A proxy that intercepts TLS presents its own certificate, and the issuer shows it. */
function judgeCertificate(check: string, host: string, socket: TLSSocket, pin: string | null): Finding {
  const chain = chainOf(socket.getPeerCertificate(true));
  const issuer = issuerOf(chain);
  if (pin !== null) {
    const pinned = chain.some(({ fingerprint256 }) => fingerprint256?.replaceAll(':', '').toLowerCase() === pin);
    if (pinned) return ok(check, `the certificate of ${host} is from the CA that the URL names`);
    return intercepted(check, host, issuer, 'which is not the CA that the URL names');
  }
  const code = distrustOf(socket);
  if (code === null) return ok(check, `the certificate of ${host} is from ${issuer}`);
  switch (kindOfDistrust(code)) {
    case 'expired':
      return problem(
        check,
        `the certificate of ${host} is expired or not yet valid`,
        'Check the clock of this machine; if it is right, tell the operator.',
      );
    case 'name':
      return problem(check, `the certificate is for another name than ${host}`, 'Check the address.');
    case 'untrusted':
      return intercepted(check, host, issuer, `which this machine does not trust (${code})`);
  }
}

function intercepted(check: string, host: string, issuer: string, why: string): Finding {
  const flag = check.startsWith('server') ? '"underpass login --ca FILE"' : '--ca FILE';
  const detail = `the certificate of ${host} was issued by ${issuer}, ${why}: TLS is intercepted, or the server uses a private CA`;
  return problem(check, detail, `Ask your network to exempt this host, or give the CA with ${flag}.`);
}

const maxChain = 8;

function chainOf(leaf: PeerCertificate): readonly PeerCertificate[] {
  const chain: PeerCertificate[] = [];
  let next: PeerCertificate | undefined = leaf;
  while (
    next?.fingerprint256 !== undefined &&
    chain.length < maxChain &&
    !chain.some((item) => item.fingerprint256 === next?.fingerprint256)
  ) {
    chain.push(next);
    next = (next as { issuerCertificate?: PeerCertificate }).issuerCertificate;
  }
  return chain;
}

function issuerOf([leaf]: readonly PeerCertificate[]): string {
  const { O: organization, CN: name } = leaf?.issuer ?? {};
  return [name, organization].filter((part) => part !== undefined && part !== '').join(', ') || 'an unnamed authority';
}
