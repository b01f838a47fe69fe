// Two haproxy processes between visitor and origin, as edge and client are: what two TLS hops cost in good C code.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificate, onPath, type Peer, type Running, type Setup } from './peer.ts';
import { freePort, start, untilListening } from './processes.ts';

const shared = `global
  nbthread 2
  tune.ssl.default-dh-param 2048
  maxconn 7000
defaults
  timeout connect 5s
  timeout client 300s
  timeout server 300s
  timeout tunnel 1h
`;

const httpEdge = (at: string, hop: string, pem: string) => `${shared}
frontend visitors
  mode http
  bind ${at} ssl crt ${pem} alpn h2,http/1.1
  option forwardfor
  default_backend hop
backend hop
  mode http
  http-reuse safe
  server hop ${hop} ssl verify none alpn http/1.1
`;

const httpHop = (at: string, origin: number, pem: string) => `${shared}
frontend hop
  mode http
  bind ${at} ssl crt ${pem} alpn http/1.1
  default_backend origin
backend origin
  mode http
  http-reuse safe
  server origin 127.0.0.1:${origin}
`;

const tcpEdge = (at: string, hop: string) => `${shared}
frontend visitors
  mode tcp
  bind ${at}
  default_backend hop
backend hop
  mode tcp
  server hop ${hop} ssl verify none
`;

const tcpHop = (at: string, origin: number, pem: string) => `${shared}
frontend hop
  mode tcp
  bind ${at} ssl crt ${pem}
  default_backend origin
backend origin
  mode tcp
  server origin 127.0.0.1:${origin}
`;

async function startChain(setup: Setup, carries: Peer['carries']): Promise<Running> {
  const { edgeAddress, clientAddress, originPort } = setup;
  const [port, hopPort] = [await freePort(), await freePort()];
  const { both } = makeCertificate(setup.folder, setup.host);
  const [edgeFile, hopFile] = [join(setup.folder, 'edge.cfg'), join(setup.folder, 'hop.cfg')];
  const isHttp = carries === 'https';
  const [edgeAt, hopAt] = [`${edgeAddress}:${port}`, `${clientAddress}:${hopPort}`];
  writeFileSync(edgeFile, isHttp ? httpEdge(edgeAt, hopAt, both) : tcpEdge(edgeAt, hopAt));
  writeFileSync(hopFile, isHttp ? httpHop(hopAt, originPort, both) : tcpHop(hopAt, originPort, both));
  const haproxy = onPath('haproxy') ?? 'haproxy';
  const hop = setup.startAtClient(haproxy, ['-db', '-f', hopFile]);
  const edge = start(haproxy, ['-db', '-f', edgeFile]);
  await Promise.all([untilListening(port, edgeAddress), untilListening(hopPort, clientAddress)]);
  return { address: edgeAddress, port, tls: isHttp, edgeSide: [edge], clientSide: [hop] };
}

export const haproxyHttps: Peer = {
  name: 'haproxy ×2',
  carries: 'https',
  needs: ['haproxy', 'openssl'],
  start: (setup) => startChain(setup, 'https'),
};

export const haproxyTcp: Peer = {
  name: 'haproxy ×2',
  carries: 'tcp',
  needs: ['haproxy', 'openssl'],
  start: (setup) => startChain(setup, 'tcp'),
};
