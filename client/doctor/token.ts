// Checks that an edge accepts the token, and that its tunnel has the expected type and domains.
import { randomBytes } from 'node:crypto';
import { aTunnel, type TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { Info } from '@underpass/wire/core/hello.ts';
import { createSession } from '@underpass/wire/session/session.ts';
import type { TunnelUpstreams } from '../carry/api.ts';
import { type DialledCarrier, dialEdge } from '../carry/dial.ts';
import { createDomainCheck } from '../carry/domain-check.ts';
import { CarryError, type Problem, problems } from '../carry/problem.ts';
import { proxyFor } from '../carry/proxy-connect.ts';
import { parseRegionUrl } from '../carry/region-url.ts';
import type { Io } from '../process/io.ts';
import { version } from '../process/version.ts';
import { type Finding, ok, problem } from './finding.ts';

interface TokenTarget {
  readonly url: string;
  readonly token: string;
  /** Undefined if no flag gives it: then the edge's answer is shown. */
  readonly type: TunnelType | undefined;
  readonly upstreams: TunnelUpstreams | undefined;
  readonly caPem: string | undefined;
}

export async function checkToken(io: Io, { url, token, type, upstreams, caPem }: TokenTarget): Promise<readonly Finding[]> {
  const region = parseRegionUrl(url);
  const options = { proxy: proxyFor(io.env, region.host, region.port), clientId: randomBytes(16).toString('hex'), dialIndex: 0 };
  const { signal } = new AbortController();
  try {
    const dialled = await dialEdge({ ...options, region, token, caPem, signal, software });
    const info = await greet(dialled);
    const accepts = `${dialled.edge ?? region.host} accepts it`;
    const domains = upstreams === undefined ? [] : checkDomains(upstreams, info);
    if (info.type === undefined) return [ok('token', accepts), ...domains];
    const tells = `${info.tunnel ?? region.host} is ${aTunnel(info.type)}`;
    if (type !== undefined && type !== info.type) throw new CarryError('wrong-type', tells);
    return [ok('token', `${accepts}, ${tells}`), ...domains];
  } catch (error) {
    if (!(error instanceof CarryError)) throw error;
    return [findingOf('token', error.problem)];
  }
}

function checkDomains(upstreams: TunnelUpstreams, { urls }: Info): readonly Finding[] {
  const domainCheck = createDomainCheck(upstreams, () => {});
  domainCheck.update(urls);
  const found = domainCheck.problem();
  return found === null ? [] : [findingOf('domains', found)];
}

function findingOf(check: string, { code, detail }: Problem): Finding {
  const { title, fix } = problems[code];
  return problem(check, `${title}: ${detail}`, fix);
}

const software = `underpass/${version}`;

/** Drains at once after its HELLO, so that the edge sends no visitor here. The edge's HELLO ends the check. */
function greet({ socket, address }: DialledCarrier): Promise<Info> {
  const session = createSession(socket, { side: 'dialer', peerMayOpen: true, info: { software } });
  session.drain();
  return new Promise((resolve, reject) => {
    session.onReady = () => resolve(session.peerInfo);
    session.onClose = ({ code }) => reject(new CarryError('connection-lost', `${address} (${code})`));
  });
}
