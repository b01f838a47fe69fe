// Takes the steps by which a program, such as an MCP client, learns how its user signs in at an address with an access policy:
// challenge, resource metadata (RFC 9728), authorization server (RFC 8414), PKCE, registration.

import { gather } from '../process/bounded-file.ts';
import type { Io } from '../process/io.ts';
import { version } from '../process/version.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';

const timeoutMs = 10_000;
const bytesMost = 64 * 1024;
const steps = ['sign-in challenge', 'resource metadata', 'authorization server', 'PKCE', 'registration'] as const;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the body is no JSON object. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

/** A finding that ends the walk. */
class Stop extends Error {
  readonly finding: Finding;
  constructor(finding: Finding) {
    super(finding.detail);
    this.finding = finding;
  }
}

function stop(check: string, detail: string, fix: string): never {
  throw new Stop(problem(check, detail, fix));
}

export async function checkProgramAccess(io: Io, address: string): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  try {
    for await (const finding of walk(io, new URL(address))) findings.push(finding);
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    findings.push(error.finding);
  }
  const done = new Set(findings.map(({ check }) => check));
  const rest = steps.filter((step) => !done.has(step));
  return [...findings, ...rest.map((step) => skipped(step, 'not reached'))];
}

async function* walk(io: Io, address: URL): AsyncGenerator<Finding> {
  const challenge = await readChallenge(io, address);
  yield ok('sign-in challenge', `401, and it names ${challenge}`);
  const issuer = await readResource(io, address, challenge);
  yield ok('resource metadata', `it is for this address, and names ${issuer}`);
  const server = await readServer(io, issuer);
  yield ok('authorization server', `${issuer} describes itself`);
  yield judgePkce(server);
  yield await checkRegistration(io, server);
}

/** A program also sends its first request without a token. */
async function readChallenge(io: Io, address: URL): Promise<string> {
  const check = 'sign-in challenge';
  const { status, headers } = await ask(io, check, address.href, { accept: 'application/json, text/event-stream' });
  if (status !== 401) return stop(check, `${address.href} answers ${status} to a program without a token`, adviseStatus(status));
  const field = headers.get('www-authenticate') ?? '';
  const metadata = /(?:^|[\s,])resource_metadata="([^"]+)"/i.exec(field)?.[1];
  if (/^bearer\b/i.test(field) && metadata !== undefined && URL.canParse(metadata)) return metadata;
  const detail = `401, but WWW-Authenticate names no resource_metadata: "${field}"`;
  return stop(
    check,
    detail,
    'Another server asks for this sign-in, perhaps the upstream. Attach an access policy to the tunnel.',
  );
}

function adviseStatus(status: number): string {
  if (status < 400) return 'It needs no sign-in. Attach an access policy to the tunnel, or look for a "public" rule of its path.';
  if (status === 403)
    return 'The security group or a "deny" rule of the access policy refuses it. Test the policy in the dashboard.';
  if (status >= 500) return 'Check that a client is connected and its upstream answers: run "underpass doctor TUNNEL".';
  return 'Check the address: it must be the one that you give to the program, with its path.';
}

async function readResource(io: Io, address: URL, metadataUrl: string): Promise<string> {
  const check = 'resource metadata';
  if (new URL(metadataUrl).origin !== address.origin)
    return stop(
      check,
      `${metadataUrl} is at another host than ${address.host}`,
      'Programs refuse that. Look for a proxy before the tunnel.',
    );
  const { status, json } = await ask(io, check, metadataUrl);
  if (status !== 200 || json === undefined)
    return stop(
      check,
      `${metadataUrl} answers ${status} without JSON`,
      'Look for a rule of the policy, or a proxy, that takes this path.',
    );
  const resource = String(json.resource);
  if (!isWithin(address, resource))
    return stop(check, `it is for ${resource}, not for ${address.href}`, 'Give the program the address that the metadata names.');
  const [issuer] = Array.isArray(json.authorization_servers) ? json.authorization_servers : [];
  if (typeof issuer === 'string' && URL.canParse(issuer)) return issuer;
  return stop(check, 'it names no authorization server', 'Look for a proxy that changes answers.');
}

/** Compares as the MCP SDK does: the same origin, and a path that begins with the resource's. */
function isWithin(address: URL, resource: string): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin, pathname } = new URL(resource);
  const whole = (path: string): string => (path.endsWith('/') ? path : `${path}/`);
  return origin === address.origin && whole(address.pathname).startsWith(whole(pathname));
}

/** The addresses in the order in which the MCP SDK asks. */
export function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const found = ['oauth-authorization-server', 'openid-configuration'].map((name) => `${origin}/.well-known/${name}${path}`);
  return path === '' ? found : [...found, `${origin}${path}/.well-known/openid-configuration`];
}

type Server = Readonly<Record<string, unknown>>;

async function readServer(io: Io, issuer: string): Promise<Server> {
  const check = 'authorization server';
  const tried: string[] = [];
  for (const url of metadataUrls(issuer)) {
    const { status, json } = await ask(io, check, url);
    if (status === 200 && json !== undefined) return judgeServer(json, issuer);
    tried.push(`${url} answers ${status}`);
  }
  return stop(check, tried.join('; '), 'Check UNDERPASS_ORIGIN of the server: programs must reach it at that address.');
}

/** RFC 8414 3.3: a different issuer is an attack, or the server's address is set wrongly. */
function judgeServer(server: Server, issuer: string): Server {
  const check = 'authorization server';
  if (server.issuer !== issuer)
    return stop(check, `it calls itself ${String(server.issuer)}, not ${issuer}`, 'Check UNDERPASS_ORIGIN of the server.');
  const missing = ['authorization_endpoint', 'token_endpoint'].filter((name) => !URL.canParse(String(server[name])));
  return missing.length === 0 ? server : stop(check, `it has no ${missing.join(' and no ')}`, 'Update the server.');
}

function judgePkce({ code_challenge_methods_supported: methods }: Server): Finding {
  if (Array.isArray(methods) && methods.includes('S256')) return ok('PKCE', 'S256');
  return problem('PKCE', 'the authorization server does not offer S256', 'MCP clients refuse it. Update the server.');
}

/** Servers refuse an empty registration, so the check leaves nothing behind. */
async function checkRegistration(io: Io, server: Server): Promise<Finding> {
  const check = 'registration';
  const documents = server.client_id_metadata_document_supported === true ? ['client-ID metadata documents'] : [];
  const { registration_endpoint: endpoint } = server;
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint))
    return documents.length > 0
      ? ok(check, documents[0]!)
      : warning(check, 'programs cannot register themselves', 'Give the program a client id that the server knows.');
  const { status, json } = await ask(io, check, endpoint, {}, '{}');
  if (status === 400 && typeof json?.error === 'string') return ok(check, ['dynamic registration', ...documents].join(', '));
  return problem(check, `${endpoint} answers ${status} to an empty registration`, 'Look for a proxy before the server.');
}

async function ask(io: Io, check: string, url: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  const sent = { accept: 'application/json', 'user-agent': `underpass/${version}`, ...headers };
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  try {
    const response = await io.fetch(url, {
      ...(body === undefined ? {} : { method: 'POST', body }),
      headers: { ...sent, ...type },
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { status } = response;
    return { status, headers: response.headers, json: parseObject(await readBounded(response)) };
  } catch (error) {
    const { cause, message } = error as Error;
    const reason = (cause as { code?: string } | undefined)?.code ?? message;
    return stop(
      check,
      `${url} does not answer (${reason})`,
      'Check the network of this machine. For an authority of your own, add --ca.',
    );
  }
}

/** An event stream never ends, and says nothing that counts here. */
async function readBounded(response: Response): Promise<string> {
  if (!/json/i.test(response.headers.get('content-type') ?? '')) {
    await response.body?.cancel();
    return '';
  }
  const bytes = await gather(response.body ?? [], bytesMost);
  // A decoder, because JSON must not begin with a byte order mark.
  return new TextDecoder().decode(bytes ?? new Uint8Array());
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
