// doctor: checks everything between this machine and a working tunnel. Each line is ok, or says what to do.

import { withoutBrackets } from '@underpass/rules/address/address.ts';
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { ProxyProtocol, Tunnel } from '@underpass/rules/entity/entity.ts';
import { lookedUpName } from '@underpass/rules/names/dns-record.ts';
import { portProblems } from '@underpass/rules/tunnel/port-range.ts';
import { isPrivateTunnel } from '@underpass/rules/tunnel/tcp-address.ts';
import { type TunnelType, tunnelTypeNames } from '@underpass/rules/tunnel/tunnel-type.ts';
import { type Command, Option } from 'commander';
import { openProject, openServer, type ProjectAccount, serverOf } from '../account/account.ts';
import { callWithoutToken, request } from '../account/api.ts';
import { fetchTunnel } from '../account/connectable.ts';
import { readCredentials } from '../account/credentials.ts';
import type { TunnelUpstreams } from '../carry/api.ts';
import { parseRegionUrl } from '../carry/region-url.ts';
import { readCa } from '../config/loaded-tunnel.ts';
import { readToken } from '../config/token.ts';
import { parseTunnelUrl } from '../config/tunnel-config.ts';
import { upstreamsOfFlags } from '../config/upstream-flags.ts';
import { judgeDomains } from '../doctor/domains.ts';
import { type Finding, ok, problem, renderFinding, skipped, warning } from '../doctor/finding.ts';
import { checkPath } from '../doctor/network-path.ts';
import { checkProgramAccess } from '../doctor/program-access.ts';
import { checkToken } from '../doctor/token.ts';
import { checkUpstream, type UpstreamTarget, unknownHost } from '../doctor/upstream.ts';
import { ClientError, errors, orUsage } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { version } from '../process/version.ts';
import { upstreamHostOption } from './carry.ts';
import { type CommonFlags, collect, outputOf, projectCommand, type Shell } from './command-line.ts';
import { newestRelease } from './release.ts';

interface DoctorFlags extends CommonFlags {
  readonly url?: string;
  readonly type?: TunnelType;
  readonly tokenFile?: string;
  readonly upstream?: readonly string[];
  readonly upstreamHost?: readonly string[];
  readonly proxyProtocol?: 'off' | 'v1' | 'v2';
  readonly ca?: string;
  readonly upstreamCa?: string;
  readonly upstreamInsecure?: boolean;
}

/** What the server or the flags say about the tunnel to check. */
interface Subject {
  readonly name?: string;
  readonly url?: string;
  readonly token?: string;
  readonly host: string;
  readonly upstreams?: TunnelUpstreams;
  readonly proxyProtocol: ProxyProtocol;
}

export function addDoctorCommand(program: Command, shell: Shell): void {
  projectCommand(
    program,
    'doctor [tunnel]',
    'Find out what is wrong: DNS, TCP, TLS, proxy, clock, token, version, domains, upstream; for an https address, how programs sign in.',
    [
      'underpass doctor',
      'underpass doctor shop --upstream http://127.0.0.1:8080',
      'underpass doctor --url https://eu1.example.com --token-file shop.token --upstream http://127.0.0.1:8080',
      'underpass doctor https://shop.example.com/mcp',
    ],
  )
    .option('--url <url>', 'URL of the tunnel, instead of its name')
    .addOption(new Option('--type <type>', 'with --url: type of the tunnel (default: http)').choices(tunnelTypeNames))
    .option('--token-file <file>', 'with --url: file that holds the token')
    .option('--upstream <upstream>', 'as for http, ingress and tcp; may be repeated', collect)
    .addOption(upstreamHostOption())
    .addOption(new Option('--proxy-protocol <version>', 'with --url: what the tunnel is set to').choices(['off', 'v1', 'v2']))
    .option('--ca <file>', 'CA certificates (PEM) to trust for the region')
    .option('--upstream-ca <file>', 'CA certificates (PEM) to trust for https upstreams')
    .option('--upstream-insecure', 'do not check certificates of https upstreams')
    .action((name: string | undefined, flags: DoctorFlags) => doctor(shell, name, flags));
}

async function doctor(shell: Shell, name: string | undefined, flags: DoctorFlags): Promise<void> {
  const output = outputOf(shell, flags);
  const findings: Finding[] = [];
  const report = (found: readonly Finding[]) => {
    findings.push(...found);
    if (!output.json) for (const finding of found) shell.io.stdout.write(`${renderFinding(finding)}\n`);
  };
  if (name?.startsWith('https://')) await checkAddress(shell.io, name, flags, report);
  else await checkNamed(shell, name, flags, report);
  const problems = findings.filter(({ state }) => state === 'problem').length;
  if (output.json) output.result({ findings, problems }, '');
  if (problems > 0) throw new ClientError('doctor-found-problems', problems === 1 ? '1 problem' : `${problems} problems`);
}

async function checkNamed(shell: Shell, name: string | undefined, flags: DoctorFlags, report: Report): Promise<void> {
  const needsServer = name !== undefined || flags.url === undefined;
  if (needsServer) await checkServer(shell.io, flags, report);
  const subject = await findSubject(shell, name, flags, report);
  if (subject !== undefined) await checkTunnel(shell, subject, flags, report);
}

/** What programs meet at an address of a tunnel that has an access policy. */
async function checkAddress(io: Io, text: string, flags: DoctorFlags, report: Report): Promise<void> {
  if (!URL.canParse(text)) throw new ClientError('usage', `"${text}" is not an address, such as https://shop.example.com/mcp`);
  const url = new URL(text);
  const caPem = await readCa(io, flags.ca);
  if (caPem !== undefined) io.trust(caPem);
  const host = withoutBrackets(url.hostname);
  const path = await checkPath(io, { what: 'address', host, port: Number(url.port || 443), tls: true, pin: null, caPem });
  report(path);
  if (path.every(({ state }) => state !== 'problem')) report(await checkProgramAccess(io, url.href));
}

type Report = (findings: readonly Finding[]) => void;

async function checkServer(io: Io, flags: DoctorFlags, report: Report): Promise<void> {
  const { origin, caPem } = await openServer(io, flags);
  const url = new URL(origin);
  const tls = url.protocol === 'https:';
  const port = url.port === '' ? (tls ? 443 : 80) : Number(url.port);
  const host = withoutBrackets(url.hostname);
  const path = await checkPath(io, { what: 'server', host, port, tls, pin: null, caPem });
  report(path);
  if (path.some(({ state }) => state === 'problem')) return;
  const identity = await checkIdentity(io, origin);
  report([identity]);
  if (identity.state === 'ok') report([await checkClock(io, origin), await checkVersion(io, origin)]);
}

/** Any web server accepts connections, and has a clock. */
async function checkIdentity(io: Io, origin: string): Promise<Finding> {
  try {
    const { value } = await callWithoutToken(io, origin, publicCalls.getMeta, {});
    if (typeof value?.version === 'string') return ok('server', `${origin} runs Underpass ${value.version}`);
    return problem('server', `${origin} is not Underpass`, errors['server-unknown'].fix);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    return problem('server', `${errors[error.code].title}: ${error.message}`, error.fix);
  }
}

/** A minute is harmless. With a larger difference, certificates and signatures look expired or not yet valid. */
const maxSkewMs = 60_000;

async function checkClock(io: Io, origin: string): Promise<Finding> {
  try {
    const before = io.now();
    const response = await request(io, `${origin}/healthz`, { method: 'GET' });
    const theirs = Date.parse(response.headers.get('date') ?? '');
    if (Number.isNaN(theirs)) return skipped('clock', `${origin} does not send its time`);
    const skewMs = Math.round((before + io.now()) / 2 - theirs);
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    if (Math.abs(skewMs) <= maxSkewMs) return ok('clock', `within ${Math.max(1, seconds)} s of the server`);
    const detail = `${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the server`;
    return problem('clock', detail, 'Set the clock of this machine, e.g. "sudo timedatectl set-ntp true".');
  } catch (error) {
    return problem('clock', (error as Error).message, 'Check --server.');
  }
}

async function checkVersion(io: Io, origin: string): Promise<Finding> {
  try {
    const newest = await newestRelease(io, origin);
    if (newest === undefined || newest.version === version) return ok('version', `${version} is the newest`);
    return warning('version', `this is ${version}, the newest is ${newest.version}`, 'Run "underpass update".');
  } catch (error) {
    return skipped('version', `this is ${version}; ${(error as Error).message}`);
  }
}

async function findSubject(
  shell: Shell,
  name: string | undefined,
  flags: DoctorFlags,
  report: Report,
): Promise<Subject | undefined> {
  let check = flags.url === undefined ? 'sign-in' : 'token';
  try {
    if (flags.url !== undefined) return await fromFlags(shell, flags);
    if (name === undefined && !(await isSignedIn(shell.io, flags)))
      return void report([skipped('sign-in', 'not signed in, and no --url given')]);
    const account = await openProject(shell.io, flags);
    report([ok('sign-in', `project ${account.project.name}, ${account.project.role}`)]);
    if (name === undefined) return undefined;
    check = 'tunnel';
    const tunnel = await fetchTunnel(account, name);
    if (isPrivateTunnel(tunnel)) report([ok('reach', `${name} is private: underpass reach leads there`)]);
    else if (tunnel.port === undefined) report(await checkDomains(account, tunnel));
    else report(await checkPort(shell.io, tunnel, tunnel.port));
    return fromTunnel(tunnel, flags);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    report([problem(check, error.message || error.code, error.fix)]);
    return undefined;
  }
}

/** The public port of a tcp tunnel, as a visitor of this machine meets it. A refused visitor is refused after it connects. */
async function checkPort(io: Io, { dataPlaneHost: host, portProblem }: Tunnel, port: number): Promise<readonly Finding[]> {
  if (portProblem !== undefined) return [problem('port', portProblems[portProblem], 'Ask the operator of the region.')];
  return checkPath(io, { what: 'port', host, port, tls: false, pin: null, caPem: undefined });
}

/** A server of an older version cannot check them. */
async function checkDomains({ api, project }: ProjectAccount, tunnel: Tunnel): Promise<readonly Finding[]> {
  try {
    return judgeDomains(tunnel, await api.call(tunnelCalls.checkTunnelDomains, { project: project.id, name: tunnel.name }));
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    return [skipped('domains', error.message || error.code)];
  }
}

async function isSignedIn(io: Io, flags: DoctorFlags): Promise<boolean> {
  if (io.env.UNDERPASS_API_TOKEN) return true;
  return (await readCredentials(io)).servers[await serverOf(io, flags)] !== undefined;
}

function fromTunnel(tunnel: Tunnel, { upstream: texts, upstreamHost }: DoctorFlags): Subject {
  const { name, url, proxyProtocol, token, type, ingressDomains } = tunnel;
  const host = lookedUpName(ingressDomains[0]?.name ?? unknownHost);
  const known = { name, url, proxyProtocol, host, ...(token === undefined ? {} : { token }) };
  return texts === undefined ? known : { ...known, upstreams: upstreamsOfFlags(type, texts, upstreamHost) };
}

async function fromFlags(shell: Shell, flags: DoctorFlags): Promise<Subject> {
  const url = orUsage(parseTunnelUrl(flags.url ?? ''));
  const proxyProtocol = flags.proxyProtocol === undefined || flags.proxyProtocol === 'off' ? '' : flags.proxyProtocol;
  const upstreams =
    flags.upstream === undefined ? {} : { upstreams: upstreamsOfFlags(flags.type ?? 'http', flags.upstream, flags.upstreamHost) };
  const hasToken = flags.tokenFile !== undefined || Boolean(shell.io.env.UNDERPASS_TOKEN);
  const token = hasToken ? { token: await readToken(shell.io, flags.tokenFile, outputOf(shell, flags)) } : {};
  return { url, host: unknownHost, proxyProtocol, ...upstreams, ...token };
}

async function checkTunnel(shell: Shell, subject: Subject, flags: DoctorFlags, report: Report): Promise<void> {
  const caPem = await readCa(shell.io, flags.ca);
  const upstreamCaPem = await readCa(shell.io, flags.upstreamCa);
  if (subject.url !== undefined) {
    const region = parseRegionUrl(subject.url);
    const path = await checkPath(shell.io, {
      what: 'region',
      host: region.host,
      port: region.port,
      tls: true,
      pin: region.pin,
      caPem,
    });
    report(path);
    const open = path.every(({ state }) => state !== 'problem');
    if (open) report(await tokenFindings(shell.io, subject, flags, caPem));
  }
  const expected = {
    proxyProtocol: subject.proxyProtocol,
    tunnel: subject.name,
    caPem: upstreamCaPem,
    insecure: flags.upstreamInsecure === true,
  };
  for (const target of targetsOf(subject)) report(await checkUpstream(target, expected));
  if (subject.upstreams === undefined) report([skipped('upstream', 'not checked: give it with --upstream')]);
}

function tokenFindings(io: Io, { url = '', token, upstreams }: Subject, { type }: DoctorFlags, caPem: string | undefined) {
  if (token === undefined) return [skipped('token', 'none given, or your role may not read it')];
  return checkToken(io, { url, token, type: type ?? upstreams?.type, upstreams, caPem });
}

function targetsOf({ upstreams, host }: Subject): readonly UpstreamTarget[] {
  if (upstreams === undefined) return [];
  if (upstreams.type === 'tcp') return upstreams.list.map(({ upstream }) => ({ upstream, host, port: 'any' }));
  if (upstreams.type === 'ingress') return upstreams.list.map(({ port, upstream }) => ({ upstream, host, port }));
  return upstreams.list.map(({ domain, ...carried }) => ({ ...carried, host: domain ?? host, port: null }));
}
