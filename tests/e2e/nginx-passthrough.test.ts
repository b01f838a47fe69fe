// An nginx with its own certificate behind an ingress tunnel: TLS and port 80 pass through unchanged.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { connectClient, makeTunnel, makeVerifiedDomain } from '../helpers/dashboard.ts';
import { startNameServer } from '../helpers/dns.ts';
import { freePorts } from '../helpers/port.ts';
import { startProgram } from '../helpers/process.ts';
import { startProduct, tunnelCreated } from '../helpers/product.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

const host = 'shop.example.org';

interface Nginx {
  readonly http: number;
  readonly https: number;
  readonly certificatePem: string;
}

async function startNginx(t: TestContext): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-nginx-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [http = 0, https = 0] = await freePorts(2);
  const [certificate, key, config] = ['cert.pem', 'key.pem', 'nginx.conf'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync(
    requireTool('openssl'),
    ['req', ...kind, '-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`, '-keyout', key, '-out', certificate],
    { stdio: 'ignore' },
  );
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n');
  writeFileSync(
    config,
    `pid ${folder}/pid; error_log stderr; daemon off; master_process off; events {}
http { access_log off; ${places}
server { listen 127.0.0.1:${http}; location / { return 200 "plain $host"; } }
server { listen 127.0.0.1:${https} ssl; ssl_certificate ${certificate}; ssl_certificate_key ${key};
location / { return 200 "private $host"; } } }
`,
  );
  const nginx = startProgram(t, requireTool('nginx'), ['-c', config, '-p', folder, '-e', 'stderr']);
  await nginx.listening(https);
  return { http, https, certificatePem: readFileSync(certificate, 'utf8') };
}

function ask(port: number, certificatePem: string | null): Promise<{ text: string; certificate: string }> {
  return new Promise((resolve, reject) => {
    const common = { host: '127.0.0.1', port, headers: { Host: host }, agent: false as const };
    const asked = certificatePem === null ? requestHttp(common) : request({ ...common, servername: host, ca: certificatePem });
    asked.on('error', reject).end();
    asked.on('response', async (response) => {
      const certificate = certificatePem === null ? '' : (response.socket as TLSSocket).getPeerCertificate().fingerprint256;
      resolve({ text: Buffer.concat(await response.toArray()).toString(), certificate });
    });
  });
}

test('an ingress tunnel shows visitors the certificate of the nginx behind it on 443, and its plain page on 80', {
  skip: skipWithout('nginx', 'openssl'),
}, async (t) => {
  const names = await startNameServer(t);
  const product = await startProduct(t, { env: { UNDERPASS_DNS_SERVERS: names.address } });
  const account = await product.signIn();
  await makeVerifiedDomain({ account, names }, 'example.org');
  await makeTunnel(account, 'shop', { type: 'ingress', ingressDomains: [host] });
  const nginx = await startNginx(t);
  const tunnel = await tunnelCreated(account, 'shop');
  await connectClient(t, tunnel, [`80=127.0.0.1:${nginx.http}`, `443=127.0.0.1:${nginx.https}`]);

  const secure = await ask(product.ports.https, nginx.certificatePem);
  assert.equal(secure.text, `private ${host}`);
  assert.equal(secure.certificate, new X509Certificate(nginx.certificatePem).fingerprint256);
  assert.equal((await ask(product.ports.http, null)).text, `plain ${host}`);
});
