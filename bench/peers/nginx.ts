// Two nginx processes between visitor and origin, as edge and client are. Only for far visitors, who talk to the first.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificate, onPath, type Peer } from './peer.ts';
import { freePort, start, untilListening } from './processes.ts';

const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

const configOf = (
  folder: string,
  side: string,
  listen: string,
  next: string,
  { certificate, key }: { certificate: string; key: string },
) => `
daemon off; user root; worker_processes 2; pid ${join(folder, `${side}.pid`)}; error_log stderr error;
events { worker_connections 8192; }
http {
  access_log off; client_max_body_size 0; keepalive_requests 1000000;
  ${temporary.map((name) => `${name}_temp_path ${join(folder, `${side}-${name}`)};`).join(' ')}
  ssl_certificate ${certificate}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3;
  ssl_session_cache shared:visitors:1m;
  upstream next { server ${next.replace(/^https?:\/\//, '')}; keepalive 64; }
  server {
    listen ${listen};
    location / { proxy_pass ${next.replace(/\/\/.*/, '//next')}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }
  }
}
`;

export const nginxHttps: Peer = {
  name: 'nginx ×2',
  carries: 'https',
  needs: ['nginx', 'openssl'],
  start: async ({ folder, host, edgeAddress, clientAddress, originPort, startAtClient }) => {
    const [port, hopPort] = [await freePort(), await freePort()];
    const pair = makeCertificate(folder, host);
    const [edgeFile, hopFile] = [join(folder, 'edge.conf'), join(folder, 'hop.conf')];
    const hopAt = `${clientAddress}:${hopPort}`;
    writeFileSync(edgeFile, configOf(folder, 'edge', `${edgeAddress}:${port} ssl http2`, `https://${hopAt}`, pair));
    writeFileSync(hopFile, configOf(folder, 'hop', `${hopAt} ssl`, `http://127.0.0.1:${originPort}`, pair));
    const nginx = onPath('nginx') ?? 'nginx';
    const hop = startAtClient(nginx, ['-c', hopFile]);
    const edge = start(nginx, ['-c', edgeFile]);
    await Promise.all([untilListening(port, edgeAddress), untilListening(hopPort, clientAddress)]);
    return { address: edgeAddress, port, tls: true, edgeSide: [edge], clientSide: [hop] };
  },
};
