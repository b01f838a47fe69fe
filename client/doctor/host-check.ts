// Checks whether an upstream refuses the Host that it will get: development servers accept only names that they know.

import { formatUpstream, parseUpstreamHost, type Upstream } from '@underpass/rules/tunnel/upstream.ts';
import { createOpenUpstream } from '../carry/open-upstream.ts';
import { type Finding, ok, problem } from './finding.ts';

interface HostTarget {
  readonly upstream: Upstream;
  /** What visitors ask for. */
  readonly host: string;
  readonly sentHost?: string;
  /** See HttpUpstream. */
  readonly path?: string;
}

const answerTimeoutMs = 5_000;
/** A head and the first sentence of a page. */
const answerBytes = 4_096;
/** What servers answer to a Host that they do not serve. */
const refusals: ReadonlySet<number> = new Set([400, 403, 421]);

/** `preface`: the PROXY header that the upstream expects. */
export async function checkHost(target: HostTarget, preface: Uint8Array): Promise<readonly Finding[]> {
  const { upstream, host, sentHost } = target;
  const asked = sentHost ?? host;
  const path = `${upstream.base ?? ''}${target.path ?? ''}/`;
  const answer = await get(target, preface, asked, path);
  if (answer === null) return [];
  const own = hostOfUpstream(upstream);
  if (refusals.has(answer.status) && asked !== own) {
    const other = await get(target, preface, own, path);
    if (other !== null && other.status !== answer.status) return [refusedHost(target, asked, answer)];
  }
  if (sentHost === undefined && /^x-powered-by:[ \t]*next\.js/im.test(answer.text)) return checkNext(target, preface);
  return refusals.has(answer.status) ? [] : [ok(check, `${formatUpstream(upstream)} accepts the Host ${asked}`)];
}

const check = 'upstream Host';
const fix = 'Add --upstream-host upstream.';

export function hostOfUpstream(upstream: Upstream): string {
  const own = parseUpstreamHost('upstream', upstream);
  return (own.ok ? own.value : null) ?? upstream.host;
}

function refusedHost({ upstream }: HostTarget, asked: string, { status, text }: Answer): Finding {
  const name = software.find(([, sign]) => sign.test(text))?.[0];
  const by = name === undefined ? '' : `, as ${name} does with names that it does not know`;
  return problem(check, `${formatUpstream(upstream)} refuses the Host ${asked} with status ${status}${by}`, fix);
}

const software: readonly (readonly [string, RegExp])[] = [
  ['Vite', /Blocked request\. This host/],
  ['webpack-dev-server', /Invalid Host header/],
  ['Django', /DisallowedHost|HTTP_HOST/],
  ['an MCP server', /"jsonrpc".*Invalid Host/s],
];

/** Next.js serves pages to every Host, and refuses the Origin of its hot reload. */
async function checkNext(target: HostTarget, preface: Uint8Array): Promise<readonly Finding[]> {
  const place = formatUpstream(target.upstream);
  const answer = await get(target, preface, target.host, '/_next/hmr', `Origin: https://${target.host}\r\n`);
  if (answer?.status !== 403) return [ok(check, `${place} accepts the Host ${target.host}`)];
  return [problem(check, `${place} refuses the Origin https://${target.host}, as Next.js does for its hot reload`, fix)];
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function get(target: HostTarget, preface: Uint8Array, host: string, path: string, more = ''): Promise<Answer | null> {
  const socket = createOpenUpstream({ caPem: undefined, insecure: true })({ upstream: withoutBase(target.upstream) }, preface);
  return new Promise((resolve) => {
    let text = '';
    const settle = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
      resolve(status === 0 ? null : { status, text });
    };
    const timer = setTimeout(settle, answerTimeoutMs);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (text.length >= answerBytes) settle();
    });
    socket.on('error', settle).on('end', settle);
    const forwarded = `X-Forwarded-Host: ${target.host}\r\nX-Forwarded-Proto: https\r\n`;
    const fields = `Host: ${host}\r\n${forwarded}${more}Accept: text/html\r\nConnection: close\r\nUser-Agent: underpass-doctor\r\n`;
    socket.write(`GET ${path} HTTP/1.1\r\n${fields}\r\n`);
  });
}

/** The paths of the checks have the base already. */
function withoutBase({ base: _, ...upstream }: Upstream): Upstream {
  return upstream;
}
