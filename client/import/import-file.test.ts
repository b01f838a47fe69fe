import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../config/config-file.ts';
import { commandsFor, type Imported, importFile, renderImported } from './import-file.ts';

const files = {
  'ngrok.yml': `version: "2"
authtoken: a-secret
tunnels:
  website:
    addr: 8888
    proto: http
    schemes: [https]
    domain: www.example.com
    host_header: rewrite
    basic_auth: ["bob:a-secret"]
    ip_restriction:
      allow_cidrs: [192.0.2.0/24, "2001:db8::/32"]
      deny_cidrs: [192.0.2.7/32]
  Web Site:
    proto: http
    addr: https://localhost:8443
    hostname: blue-fox.ngrok-free.app
  secure: {proto: tls, addr: 443, domain: tls.example.com, proxy_proto: "2"}
  guarded: {proto: tls, addr: 443, traffic_policy: {on_tcp_connect: []}}
  ssh: {proto: tcp, addr: 22}
  files: {proto: http, addr: "file:///srv/www"}
`,
  'ngrok-3.yml': `version: 3
agent:
  authtoken: a-secret
endpoints:
  - name: app
    url: https://app.example.com
    upstream: {url: 8080, protocol: http2}
    traffic_policy:
      on_http_request: [{actions: [{type: oauth, config: {secret: a-secret}}]}]
  - url: tcp://1.tcp.ngrok.io:1
    upstream: {url: tcp://localhost:22}
`,
  'config.yml': `tunnel: home
credentials-file: /root/a-secret.json
originRequest:
  noTLSVerify: true
ingress:
  - hostname: git.example.com
    service: https://localhost:8000
  - hostname: git.example.org
    service: https://localhost:8001
    originRequest: {noTLSVerify: false, http2Origin: true, httpHostHeader: inner.local, caPool: /etc/ca.pem}
  - hostname: git.example.org
    path: \\.jpg$
    service: http://localhost:8002
  - hostname: staff.example.org
    service: http://localhost:8003
    originRequest:
      access: {required: true, teamName: team}
  - hostname: ssh.example.com
    service: ssh://localhost:22
  - hostname: "*.example.com"
    service: http://localhost:81
  - service: http_status:404
`,
  'frpc.toml': `serverAddr = "frps.example.com"
auth.token = "a-secret"
[[proxies]]
name = "ssh"
type = "tcp"
localPort = 22
[[proxies]]
name = "web"
type = "http"
localPort = 8080
customDomains = ["web.example.com", "www.example.com"]
httpUser = "a"
httpPassword = "a-secret"
requestHeaders.set.x-from-where = "frp"
[[proxies]]
name = "tls"
type = "https"
customDomains = ["tls.example.com"]
[proxies.plugin]
type = "https2http"
localAddr = "127.0.0.1:8081"
keyPath = "./server.key"
[[proxies]]
name = "part"
type = "http"
localPort = 80
locations = ["/pic"]
[[proxies]]
name = "raw"
type = "https"
localIP = "fd00::1"
localPort = 8443
transport.proxyProtocolVersion = "v2"
`,
  'frpc.ini': `[common]
server_addr = 127.0.0.1
token = a-secret
[web]
type = http
local_port = 80
custom_domains = a.example.com, b.example.com
host_header_rewrite = inner.example
header_X-From = frp
[visitor]
role = visitor
type = stcp
sk = a-secret
`,
} as const;

async function imported(path: keyof typeof files): Promise<Imported> {
  const found = await importFile(path, files[path]);
  assert.ok(found !== undefined);
  return found;
}

const leftLines = ({ leftOut }: Imported): readonly string[] => leftOut.map(({ line, key }) => `${line} ${key}`);

describe('a file of ngrok', () => {
  it('becomes tunnels with the same domains, hosts and addresses, and are open to nobody whom it refused', async () => {
    const file = await imported('ngrok.yml');
    assert.deepEqual(commandsFor(file.tunnels), [
      'underpass access add website --members',
      'underpass groups add website --allow 192.0.2.0/24 --allow 2001:db8::/32',
      'underpass tunnels add website --domain www.example.com --access website',
      'underpass tunnels update website --group website',
      'underpass tunnels add web-site --generate-domain',
      'underpass tunnels add secure --type ingress --domain tls.example.com --proxy-protocol v2',
    ]);
    assert.deepEqual(leftLines(file), [
      ...['2 authtoken', '10 tunnels.website.basic_auth', '13 tunnels.website.ip_restriction.deny_cidrs'],
      ...['17 tunnels.Web Site.hostname', '19 tunnels.guarded', '20 tunnels.ssh', '21 tunnels.files'],
    ]);
    assert.match(renderImported(file), /upstream: http:\/\/localhost:8888\n {4}upstream-host: upstream\n/);
    assert.match(renderImported(file), /upstream: https:\/\/localhost:8443\n {4}upstream-insecure: true\n/);
  });

  it('of version 3 has endpoints, and rules that have no counterpart admit members alone', async () => {
    const file = await imported('ngrok-3.yml');
    assert.deepEqual(commandsFor(file.tunnels), [
      'underpass access add app --members',
      'underpass tunnels add app --domain app.example.com --access app',
    ]);
    assert.deepEqual(file.tunnels[0]?.upstreams, ['h2c://localhost:8080']);
    assert.equal(leftLines(file)[0], '3 agent.authtoken');
    assert.equal(leftLines(file).at(-1), '10 endpoints');
  });
});

describe('a file of cloudflared', () => {
  it('becomes a tunnel for each way of checking the service and its visitors', async () => {
    const file = await imported('config.yml');
    assert.deepEqual(
      file.tunnels.map(({ name, upstreams, upstreamHosts, upstreamCa, isInsecure, guard }) =>
        [name, ...upstreams, upstreamHosts, upstreamCa, isInsecure, guard].filter(Boolean),
      ),
      [
        ['home', 'git.example.com=https://localhost:8000', '*.example.com=http://localhost:81', true],
        ['home-2', 'git.example.org=https+h2://localhost:8001', ['git.example.org=inner.local'], '/etc/ca.pem'],
        ['home-3', 'staff.example.org=http://localhost:8003', 'members'],
      ],
    );
    assert.deepEqual(leftLines(file), [
      ...['2 credentials-file', '11 ingress', '17 ingress.originRequest.access.required'],
      ...['17 ingress.originRequest.access.teamName', '18 ingress'],
    ]);
  });
});

describe('a file of frp', () => {
  it('becomes http tunnels where the client or the server ends TLS, and ingress tunnels where it passes through', async () => {
    const file = await imported('frpc.toml');
    assert.deepEqual(
      file.tunnels.map(({ name, type, upstreams, proxyProtocol, guard }) =>
        [name, type, ...upstreams, proxyProtocol, guard].filter(Boolean),
      ),
      [
        ['web', 'http', 'http://127.0.0.1:8080', 'password'],
        ['tls', 'http', 'http://127.0.0.1:8081'],
        ['raw', 'ingress', '443=[fd00::1]:8443', 'v2'],
      ],
    );
    assert.deepEqual(leftLines(file), [
      ...['1 serverAddr', '2 auth.token', '3 proxies', '12 proxies.httpUser', '13 proxies.httpPassword'],
      ...['14 proxies.requestHeaders.set.x-from-where', '22 proxies.plugin.keyPath', '23 proxies'],
    ]);
  });

  it('in the old form is read by the names of the new one', async () => {
    const file = await imported('frpc.ini');
    assert.deepEqual(commandsFor(file.tunnels), ['underpass tunnels add web --domain a.example.com --domain b.example.com']);
    assert.deepEqual(file.tunnels[0]?.upstreamHosts, ['inner.example']);
    assert.deepEqual(leftLines(file).slice(0, 3), ['2 common.server_addr', '3 common.token', '9 web.header_X-From']);
  });
});

/** What each file becomes: `NAME=UPSTREAM …`, with whom it admits, and what is left out. */
const cases = [
  {
    claim: 'admits members alone where an earlier rule keeps paths from a service',
    path: 'config.yml',
    text: `ingress:
  - {hostname: shop.example.com, path: ^/staff, service: "http_status:403"}
  - {hostname: shop.example.com, service: "http://localhost:3000"}
  - {path: /metrics, service: "http_status:404"}
  - {hostname: blog.example.com, service: "http://localhost:4000"}
  - {hostname: wiki.example.com, path: /, service: "http://localhost:5000"}
  - service: http_status:404
`,
    tunnels: [
      'cloudflared shop.example.com=http://localhost:3000 blog.example.com=http://localhost:4000 wiki.example.com=http://localhost:5000 members',
    ],
    left: ['2 ingress', '4 ingress'],
  },
  {
    claim: 'leaves out a rule whose name an earlier rule has, also by a wildcard',
    path: 'config.yml',
    text: `ingress:
  - {hostname: "*.lab.example.com", service: "http_status:403"}
  - {hostname: a.lab.example.com, service: "http://localhost:1"}
  - {hostname: b.example.com, service: "http://localhost:2"}
  - {hostname: B.example.com, service: "http://localhost:3"}
  - {hostname: c.example.com, service: "http://{{ host }}:4"}
  - service: http_status:404
`,
    tunnels: ['cloudflared b.example.com=http://localhost:2'],
    left: ['2 ingress', '3 ingress', '5 ingress', '6 ingress'],
  },
  {
    claim: 'keeps services without TLS beside checked ones, and takes a name that ends with the dot of the root',
    path: 'config.yml',
    text: `originRequest: {noTLSVerify: true}
ingress:
  - {hostname: a.example.com, service: "http://a.svc.local.:80"}
  - {hostname: b.example.com, service: "https://b.local"}
  - {hostname: c.example.com, service: "http://c.local", originRequest: {noTLSVerify: false}}
  - service: http_status:404
`,
    tunnels: [
      'cloudflared a.example.com=http://a.svc.local:80 b.example.com=https://b.local c.example.com=http://c.local insecure',
    ],
    left: [],
  },
  {
    claim: 'takes a WebSocket service, and leaves out a bastion',
    path: 'config.yml',
    text: `ingress:
  - {hostname: chat.example.com, service: "ws://localhost:7000"}
  - {hostname: hop.example.com, service: "http://localhost:7001", originRequest: {bastionMode: true}}
  - service: http_status:503
url: http://localhost:9
`,
    tunnels: ['cloudflared chat.example.com=http://localhost:7000'],
    left: ['3 ingress', '5 url'],
  },
  {
    claim: 'takes the one service for all names, and no token for a name',
    path: 'config.yml',
    text: `tunnel: ${'eyJ'.repeat(40)}\ningress:\n  - service: https://localhost:8443\n    originRequest: {noTLSVerify: true}\n`,
    tunnels: ['cloudflared https://localhost:8443 insecure'],
    left: [],
  },
  {
    claim: 'takes the older form of cloudflared with its host and its flag',
    path: 'config.yml',
    text: 'tunnel: den\nhostname: den.example.com\nurl: https://localhost:8443\nno-tls-verify: true\n',
    tunnels: ['den den.example.com=https://localhost:8443 insecure'],
    left: [],
  },
  {
    claim: 'opens no endpoint that the public did not reach',
    path: 'ngrok.yml',
    text: `endpoints:
  - {name: a, url: "https://a.internal", upstream: {url: 1}}
  - {name: b, url: "https://b.example.com", bindings: [kubernetes], upstream: {url: 2}}
  - {name: c, url: [c.internal], upstream: {url: 3}}
  - {name: d, url: "https://", bindings: [public], upstream: {url: "https://"}}
`,
    tunnels: ['d https://localhost insecure'],
    left: ['2 endpoints', '3 endpoints', '4 endpoints'],
  },
  {
    claim: 'admits members alone where ngrok checks certificates, browsers or a policy of another file',
    path: 'ngrok.yml',
    text: `tunnels:
  a: {proto: http, addr: 1, mutual_tls_cas: ca.pem}
  b: {proto: http, addr: 2, user_agent_filter: {deny: [bot]}}
endpoints:
  - {name: c, upstream: {url: 3}, traffic_policy_file: policy.yml}
`,
    tunnels: ['a http://localhost:1 members', 'b http://localhost:2 members', 'c http://localhost:3 members'],
    left: ['2 tunnels.a.mutual_tls_cas', '3 tunnels.b.user_agent_filter.deny', '5 endpoints.traffic_policy_file'],
  },
  {
    claim: 'reads what an anchor of YAML brings, a password among it',
    path: 'ngrok.yml',
    text: `tunnels:
  a: &base {proto: http, addr: 1, basic_auth: ["ann:a-secret"]}
  b:
    <<: *base
    addr: 2
`,
    tunnels: ['a http://localhost:1 password', 'b http://localhost:2 password'],
    left: ['2 tunnels.a.basic_auth', '3 tunnels.b.basic_auth'],
  },
  {
    claim: 'leaves out what ends TLS at the agent, speaks TCP behind a WebSocket or names no protocol',
    path: 'ngrok.yml',
    text: `tunnels:
  a: {proto: tls, addr: 1, crt: a.crt, key: a.key}
  b: {proto: tls, addr: 2, terminate_at: edge}
  c: {proto: http, addr: 3, websocket_tcp_converter: true}
  d: {proto: {http: 80}}
  e: {labels: [edge=x], addr: 5}
endpoints:
  - {url: "tls://f.example.com", upstream: {url: "tls://localhost:6"}, agent_tls_termination: {server_certificate: a.crt}}
`,
    tunnels: [],
    left: ['2 tunnels.a', '3 tunnels.b', '4 tunnels.c', '5 tunnels.d', '6 tunnels.e', '8 endpoints'],
  },
  {
    claim: 'gives a domain to one tunnel, and quotes no upstream with a password',
    path: 'ngrok.yml',
    text: `tunnels:
  a: {proto: http, addr: 1, domain: www.example.com}
  b: {proto: http, addr: 2, domain: www.example.com}
  c: {proto: http, addr: "http://ann:a-secret@localhost:3"}
  d: {proto: http, addr: "http://localhost:4/?key=a-secret"}
`,
    tunnels: ['a http://localhost:1'],
    left: ['3 tunnels.b', '4 tunnels.c', '5 tunnels.d'],
  },
  {
    claim: 'opens no proxy that is switched off',
    path: 'frpc.toml',
    text: `start = ["a", "b"]
[[proxies]]
name = "a"
type = "http"
localPort = 1
[[proxies]]
name = "b"
type = "http"
localPort = 2
enabled = false
[[proxies]]
name = "c"
type = "http"
localPort = 3
`,
    tunnels: ['a http://127.0.0.1:1'],
    left: ['6 proxies', '11 proxies'],
  },
  {
    claim: 'makes one ingress tunnel of the two proxies for the ports 80 and 443 of a name',
    path: 'frpc.toml',
    text: `[[proxies]]
name = "plain"
type = "http"
localPort = 80
customDomains = ["www.example.com"]
[[proxies]]
name = "tls"
type = "https"
localPort = 443
customDomains = ["WWW.example.com"]
[[proxies]]
name = "again"
type = "http"
localPort = 8080
customDomains = ["www.example.com"]
`,
    tunnels: ['tls 80=127.0.0.1:80 443=127.0.0.1:443'],
    left: ['11 proxies'],
  },
  {
    claim: 'admits members alone where another proxy has some paths or one user has the proxy',
    path: 'frpc.toml',
    text: `[[proxies]]
name = "site"
type = "http"
localPort = 1
customDomains = ["www.example.com"]
[[proxies]]
name = "staff"
type = "http"
localPort = 2
customDomains = ["www.example.com"]
locations = ["/staff"]
[[proxies]]
name = "tls"
type = "https"
localPort = 5
customDomains = ["www.example.com"]
[[proxies]]
name = "ann"
type = "http"
localPort = 3
routeByHTTPUser = "ann"
[[proxies]]
name = "typed"
type = "http"
localport = 4
httpuser = "ann"
`,
    tunnels: ['site http://127.0.0.1:1 members', 'ann http://127.0.0.1:3 members', 'typed http://127.0.0.1:4 password'],
    left: ['6 proxies', '12 proxies', '21 proxies.routeByHTTPUser', '26 proxies.httpuser'],
  },
  {
    claim: 'reads the old form of frp under each name, with quotes, colons and a section that comes twice',
    path: 'frpc.toml',
    text: `[common]
tls_enable = true
oidc_client_secret = a-secret
[web] # the shop
type = "http"
local_port: 80
[range:many]
type = tcp
local_port = 6000-6003
[web]
http_pwd = a-secret
`,
    tunnels: ['web http://127.0.0.1:80 password'],
    left: ['2 common.tls_enable', '3 common.oidc_client_secret', '7 range:many', '11 web.http_pwd'],
  },
  {
    claim: 'reads TOML under the name of the old form',
    path: 'frpc.ini.example',
    text: '[[proxies]]\nname = "web"\ntype = "http"\nlocalPort = 80\n',
    tunnels: ['web http://127.0.0.1:80'],
    left: [],
  },
] as const;

describe('every import', () => {
  it('takes a key with the name of what every object has for a key', async () => {
    const file = await importFile('frpc.ini', '[common]\n__proto__ = 1\n[constructor]\ntype = constructor\n');
    assert.deepEqual(leftLines(file!), ['2 common.__proto__', '3 constructor']);
    assert.equal(file!.leftOut.at(-1)?.why, 'type constructor is not available');
  });

  it('names what takes the place of a path and of a private tunnel', async () => {
    const rules = 'ingress:\n  - {hostname: a.example.com, path: ^/api, service: "http://localhost:1"}\n';
    const proxy = '[[proxies]]\nname = "db"\ntype = "stcp"\nlocalPort = 5432\n';
    const whys = await Promise.all(
      [importFile('config.yml', rules), importFile('frpc.toml', proxy)].map(async (file) => (await file)?.leftOut.at(-1)?.why),
    );
    assert.match(whys[0]!, /DOMAIN\/PATH=URL/);
    assert.match(whys[1]!, /--type tcp --private/);
  });

  for (const { claim, path, text, tunnels, left } of cases) {
    it(claim, async () => {
      // Windows writes a mark and other line ends.
      for (const form of [text, `\uFEFF${text.replaceAll('\n', '\r\n')}`]) {
        const file = await importFile(path, form);
        assert.ok(file !== undefined);
        const became = file.tunnels.map(({ name, upstreams, isInsecure, guard }) =>
          [name, ...upstreams, isInsecure && 'insecure', guard].filter(Boolean).join(' '),
        );
        assert.deepEqual([became, leftLines(file)], [tunnels, left]);
        assert.doesNotMatch(JSON.stringify([file, renderImported(file)]), /a-secret|eyJ/i);
      }
    });
  }

  it('writes a file that `underpass run` accepts, and shows no secret', async () => {
    for (const path of Object.keys(files) as (keyof typeof files)[]) {
      const file = await imported(path);
      const text = renderImported(file);
      assert.equal(parseConfig(text, '/', '/').ok, true, text);
      assert.doesNotMatch(JSON.stringify([text, file, commandsFor(file.tunnels)]), /a-secret/);
    }
  });

  it('names a setting that nobody knows', async () => {
    const withNovel = [
      ['ngrok.yml', `${files['ngrok.yml']}novel: 1\n`],
      ['frpc.toml', `novel = 1\n${files['frpc.toml']}`],
      ['frpc.ini', files['frpc.ini'].replace('[web]', 'novel = 1\n[web]')],
    ] as const;
    for (const [path, text] of withNovel) {
      const file = await importFile(path, text);
      assert.ok(
        file?.leftOut.some(({ key, why }) => key.endsWith('novel') && why === 'Underpass has no such setting'),
        path,
      );
    }
  });

  it('takes no text into a command that is no name, domain or address', async () => {
    const text = `tunnels:\n  "$(touch x); web":\n    proto: http\n    addr: 80\n    domain: "a.example.com; touch x"\n    ip_restriction: {allow_cidrs: ["1.2.3.4; touch x"]}\n`;
    const file = await importFile('ngrok.yml', text);
    assert.deepEqual(commandsFor(file!.tunnels), [
      'underpass access add touch-x-web --members',
      'underpass tunnels add touch-x-web --generate-domain --access touch-x-web',
    ]);
    assert.deepEqual(leftLines(file!), [
      '5 tunnels.$(touch x); web.domain',
      '6 tunnels.$(touch x); web.ip_restriction.allow_cidrs',
    ]);
  });

  it('refuses a file that is not of its form by its line, and quotes nothing of it', async () => {
    for (const [path, text] of [
      ['ngrok.yml', 'version: 2\nauthtoken: "a-secret\n'],
      ['frpc.toml', 'serverPort = 1\nauth.token = a-secret\n'],
      ['frpc.ini', '[common]\na-secret\n'],
      ['config.yml', 'tunnel: a-secret\ningress: [{hostname: *.example.com}]\n'],
      ['config.yml', 'tunnel: a-secret\noriginRequest: &all {access: *all}\n'],
      ['ngrok.yml', `tunnels:\n  - &a a-secret\n${'  - *a\n'.repeat(600)}`],
      ['config.yml', 'ingress:\n  - {hostname: {{ a-secret }}, service: "http://localhost:1"}\n'],
      ['ngrok.yml', 'tunnels:\n  {{ a-secret }}: {addr: 1, proto: http}\n'],
      ['frpc.toml', 'serverPort = 1\nserverAddr = {{ .Envs.A }} # a-secret\n'],
    ] as const) {
      await assert.rejects(importFile(path, text), ({ message, fix }: Error & { fix: string }) => {
        assert.doesNotMatch(message + fix, /a-secret/);
        return /^line ([23]|503) is not (YAML|TOML|INI)$/.test(message);
      });
    }
    assert.equal(await importFile('other.yml', 'services: {}\n'), undefined);
  });
});
