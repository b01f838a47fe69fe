// Real receivers of the PROXY protocol behind ingress tunnels: nginx, haproxy and Caddy answer with the visitor address that
// the header names. Visitors come over IPv4 and IPv6, directly to the edge and through a haproxy in front of it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { connectClient, makeTunnel, makeVerifiedDomain } from '../helpers/dashboard.ts';
import { startNameServer } from '../helpers/dns.ts';
import { freePorts } from '../helpers/port.ts';
import { startProgram } from '../helpers/process.ts';
import { type Account, type Product, startProduct } from '../helpers/product.ts';
import { startTap, type Tap } from '../helpers/tap.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

const apex = 'example.org';
const versions = ['v1', 'v2'] as const;
const families = { IPv4: '127.0.0.1', IPv6: '::1' } as const;
/** The balancer connects to the edge from this address; visitors and clients use others. */
const balancerAddress = '127.0.0.9';
const signature2 = '\r\n\r\n\0\r\nQUIT\n';

interface Ports {
  readonly http: number;
  readonly https: number;
}

/** Makes the folder of a receiver with a certificate for all its names. */
function prepare(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-receiver-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', `/CN=*.${apex}`, '-addext', `subjectAltName=DNS:*.${apex}`];
  const files = ['-keyout', join(folder, 'site.key'), '-out', join(folder, 'site.crt')];
  execFileSync(requireTool('openssl'), ['req', ...kind, ...names, ...files], { stdio: 'ignore' });
  writeFileSync(
    join(folder, 'site.pem'),
    readFileSync(join(folder, 'site.crt')).toString() + readFileSync(join(folder, 'site.key')),
  );
  return folder;
}

interface Receiver {
  readonly file: string;
  config(folder: string, ports: Ports): string;
  argv(file: string, folder: string): readonly string[];
}

const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

const receivers: Record<'nginx' | 'haproxy' | 'caddy', Receiver> = {
  nginx: {
    file: 'nginx.conf',
    config: (folder, { http, https }) => `pid ${folder}/pid; daemon off; master_process off; events {}
http { access_log off; ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
server { listen 127.0.0.1:${http} proxy_protocol; listen 127.0.0.1:${https} ssl proxy_protocol;
ssl_certificate ${folder}/site.crt; ssl_certificate_key ${folder}/site.key;
set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol;
location / { return 200 "$remote_addr $remote_port"; } } }
`,
    argv: (file, folder) => ['-c', file, '-p', folder, '-e', 'stderr'],
  },
  haproxy: {
    file: 'haproxy.cfg',
    config: (folder, { http, https }) => `defaults
  mode http
  timeout connect 5s
  timeout client 1m
  timeout server 1m
frontend web
  bind 127.0.0.1:${http} accept-proxy
  bind 127.0.0.1:${https} accept-proxy ssl crt ${folder}/site.pem
  http-request return status 200 content-type text/plain lf-string "%[src] %[src_port]"
`,
    argv: (file) => ['-f', file],
  },
  caddy: {
    file: 'Caddyfile',
    config: (folder, { http, https }) => `{
	admin off
	http_port ${http}
	https_port ${https}
	auto_https disable_redirects
	default_bind 127.0.0.1
	servers {
		listener_wrappers {
			proxy_protocol {
				allow 127.0.0.1/32
			}
			tls
		}
	}
}
(answer) {
	respond "{http.request.remote.host} {http.request.remote.port}"
}
http://*.${apex} {
	import answer
}
https://*.${apex} {
	tls ${folder}/site.crt ${folder}/site.key
	import answer
}
`,
    argv: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
};

async function startReceiver(t: TestContext, name: keyof typeof receivers): Promise<Ports & { readonly folder: string }> {
  const { file, config, argv } = receivers[name];
  const folder = prepare(t);
  const [http = 0, https = 0] = await freePorts(2);
  writeFileSync(join(folder, file), config(folder, { http, https }));
  const home = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
  const receiver = startProgram(t, requireTool(name), argv(join(folder, file), folder), home);
  await receiver.listening(https);
  await receiver.listening(http);
  return { http, https, folder };
}

interface Visit {
  readonly host: string;
  readonly address: string;
  readonly ports: Ports;
  readonly caPem: string;
}

/** One GET: `seen` is the address that the receiver reports, `true` the visitor's real one. */
async function ask(
  t: TestContext,
  { host, address, ports, caPem }: Visit,
  secure: boolean,
): Promise<{ seen: string; true: string }> {
  const tcp = connect({ host: address, port: secure ? ports.https : ports.http });
  t.after(() => tcp.destroy());
  await once(tcp, 'connect');
  const own = `${tcp.localAddress} ${tcp.localPort}`;
  const socket: Socket = secure ? connectTls({ socket: tcp, servername: host, ca: caPem, ALPNProtocols: ['http/1.1'] }) : tcp;
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const answer = Buffer.concat(await socket.toArray()).toString();
  return { seen: answer.slice(answer.indexOf('\r\n\r\n') + 4), true: own };
}

async function startStage(t: TestContext): Promise<{ readonly product: Product; readonly account: Account }> {
  const names = await startNameServer(t);
  const env = {
    UNDERPASS_DNS_SERVERS: names.address,
    UNDERPASS_LISTEN: '::',
    UNDERPASS_TRUSTED_BALANCERS: balancerAddress,
  };
  const product = await startProduct(t, { env });
  const account = await product.signIn();
  await makeVerifiedDomain({ account, names }, apex);
  return { product, account };
}

/** Opens a tunnel with this PROXY version to the receiver and starts its client; taps record what reaches the receiver. */
async function openTunnel(
  t: TestContext,
  account: Account,
  name: string,
  version: (typeof versions)[number],
  receiver: Ports,
): Promise<{ readonly host: string; readonly taps: readonly Tap[] }> {
  const host = `${name}.${apex}`;
  const tunnel = await makeTunnel(account, name, { type: 'ingress', ingressDomains: [host], proxyProtocol: version });
  const taps = [await startTap(t, receiver.http), await startTap(t, receiver.https)];
  await connectClient(t, tunnel, [`80=127.0.0.1:${taps[0]?.port}`, `443=127.0.0.1:${taps[1]?.port}`]);
  return { host, taps };
}

function assertVersion(taps: readonly Tap[], version: (typeof versions)[number], connections: number): void {
  const firsts = taps.flatMap((tap) => tap.firsts.map((first) => first.toString('latin1')));
  assert.equal(firsts.length, connections);
  const begins = version === 'v1' ? 'PROXY TCP' : signature2;
  for (const first of firsts) assert.ok(first.startsWith(begins), `${version} begins ${JSON.stringify(first.slice(0, 16))}`);
}

test('receivers behind a tunnel see the address and port of the visitor', {
  skip: skipWithout('nginx', 'haproxy', 'caddy', 'openssl'),
}, async (t) => {
  const { product, account } = await startStage(t);
  for (const name of ['nginx', 'haproxy', 'caddy'] as const) {
    const receiver = await startReceiver(t, name);
    const caPem = readFileSync(join(receiver.folder, 'site.crt'), 'utf8');
    for (const version of versions) {
      await t.test(`${name}, ${version}`, async (t) => {
        const { host, taps } = await openTunnel(t, account, `${name}-${version}`, version, receiver);
        for (const [family, address] of Object.entries(families)) {
          for (const secure of [true, false]) {
            const answer = await ask(t, { host, address, ports: product.ports, caPem }, secure);
            assert.equal(answer.seen, answer.true, `${family}, port ${secure ? 443 : 80}`);
            assert.ok(answer.true.startsWith(`${address} `));
          }
        }
        assertVersion(taps, version, 4);
      });
    }
  }
});

function balancerConfig(own: Ports, { ports }: Product, version: (typeof versions)[number], source: string): string {
  const send = version === 'v1' ? 'send-proxy' : 'send-proxy-v2';
  const part = (name: 'http' | 'https'): string => `
frontend ${name}
  bind 127.0.0.1:${own[name]}
  bind [::1]:${own[name]}
  default_backend edge_${name}
backend edge_${name}
  source ${source}
  server edge 127.0.0.1:${ports[name]} ${send}
`;
  return `defaults
  mode tcp
  timeout connect 5s
  timeout client 1m
  timeout server 1m
${part('http')}${part('https')}`;
}

async function startBalancer(
  t: TestContext,
  product: Product,
  version: (typeof versions)[number],
  source: string,
): Promise<Ports> {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-balancer-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [http = 0, https = 0] = await freePorts(2);
  writeFileSync(join(folder, 'haproxy.cfg'), balancerConfig({ http, https }, product, version, source));
  const balancer = startProgram(t, requireTool('haproxy'), ['-f', join(folder, 'haproxy.cfg')]);
  await balancer.listening(https);
  await balancer.listening(http);
  return { http, https };
}

test('the edge accepts PROXY headers from the trusted haproxy only', {
  skip: skipWithout('nginx', 'haproxy', 'openssl'),
}, async (t) => {
  const { product, account } = await startStage(t);
  const receiver = await startReceiver(t, 'nginx');
  const caPem = readFileSync(join(receiver.folder, 'site.crt'), 'utf8');
  const { host, taps } = await openTunnel(t, account, 'balanced', 'v2', receiver);
  for (const version of versions) {
    await t.test(`${version} from the balancer`, async (t) => {
      const ports = await startBalancer(t, product, version, balancerAddress);
      for (const address of Object.values(families)) {
        for (const secure of [true, false]) {
          const answer = await ask(t, { host, address, ports, caPem }, secure);
          assert.equal(answer.seen, answer.true);
        }
      }
    });
    await t.test(`${version} from an untrusted address`, async (t) => {
      const connections = taps.flatMap(({ firsts }) => firsts).length;
      const ports = await startBalancer(t, product, version, '127.0.0.10');
      const answer = await ask(t, { host, address: '127.0.0.1', ports, caPem }, false);
      assert.doesNotMatch(answer.seen, /^127/);
      assert.equal(taps.flatMap(({ firsts }) => firsts).length, connections, 'no byte reaches the receiver');
    });
  }
});
