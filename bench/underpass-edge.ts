// A program: an edge that gets its routes from its argument instead of control. argv is JSON of Argument.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { createEdge } from '@underpass/edge/edge.ts';
import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import { type FeedState, type FeedTunnel, feedVersion } from '@underpass/wire/feed/feed.ts';
import { createControlFeed } from '@underpass/wire/feed/feed-stream.ts';
import { pino } from 'pino';
import type { Tunnel } from './peers/underpass.ts';

interface Argument {
  /** Missing: no access log. */
  readonly accessLog?: string;
  readonly folder: string;
  readonly address: string;
  readonly regionHost: string;
  readonly type: TunnelType;
  readonly tunnels: readonly Tunnel[];
}

const { accessLog, folder, address, regionHost, type, tunnels } = JSON.parse(process.argv[2] ?? '{}') as Argument;

const tunnelOf = ({ host, tokenHash, visit, visitorLog }: Tunnel): FeedTunnel => ({
  id: host,
  projectId: 'project',
  name: 'bench',
  type,
  hosts: [host],
  tokens: [{ hash: tokenHash, expiresAtMs: null }],
  allowList: ['0.0.0.0/0', '::/0'],
  proxyProtocol: '',
  suspended: false,
  ...(visit === undefined ? {} : { visit }),
  ...(visitorLog === undefined ? {} : { visitorLog }),
});

const state: FeedState = {
  tunnels: tunnels.map(tunnelOf),
  certificates: [
    {
      id: 'certificate',
      hosts: [...tunnels.map(({ host }) => host), regionHost],
      certificatePem: readFileSync(join(folder, 'cert.pem'), 'utf8'),
      privateKeyPem: readFileSync(join(folder, 'key.pem'), 'utf8'),
      notAfterMs: Date.now() + 86_400_000,
    },
  ],
  challenges: [],
  peers: [],
};

const edge = await createEdge({
  region: 'bench',
  edgeId: 'edge',
  software: 'bench',
  regionHosts: [regionHost],
  https: { host: address, port: 0 },
  http: { host: address, port: 0 },
  publicHttpsPort: 443,
  ...(accessLog === undefined ? {} : { accessLog: { path: accessLog, format: 'combined' as const } }),
  // All visitors of a measurement come from one address.
  connectionLimits: { total: 20_000, perAddress: 20_000 },
  feed: async () => feed(),
  log: pino({ level: 'error' }, pino.destination(2)),
});
process.stdout.write(`${JSON.stringify(edge.ports)}\n`);
process.on('SIGTERM', () => process.exit(0));

function feed() {
  const [near, far] = duplexPair();
  const stream = createControlFeed(far);
  stream.send({ type: 'welcome', version: feedVersion, epoch: 'bench', region: 'bench', takesVisitorLog: true });
  stream.send({ type: 'snapshot', seq: 1, state });
  return near;
}
