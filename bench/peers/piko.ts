// piko: HTTP by host name over a mux; visitors reach it in plain HTTP.

import { onPath, type Peer } from './peer.ts';
import { freePort, start, untilListening } from './processes.ts';

export const piko: Peer = {
  name: 'piko',
  carries: 'tcp',
  needs: ['piko'],
  start: async ({ originPort, host }) => {
    const [proxy, upstream, admin, gossip] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const bind = (name: string, port: number) => [`--${name}.bind-addr`, `127.0.0.1:${port}`];
    const command = onPath('piko') ?? 'piko';
    const listeners = [
      ...bind('proxy', proxy),
      ...bind('upstream', upstream),
      ...bind('admin', admin),
      ...bind('cluster.gossip', gossip),
    ];
    const edge = start(command, ['server', ...listeners, '--log.level', 'error']);
    await Promise.all([untilListening(proxy), untilListening(upstream)]);
    const [endpoint = host] = host.split('.');
    const target = ['agent', 'http', endpoint, String(originPort), '--connect.url', `http://127.0.0.1:${upstream}`];
    const agent = start(command, [...target, ...bind('server', await freePort()), '--log.level', 'error']);
    return { port: proxy, tls: false, edgeSide: [edge], clientSide: [agent] };
  },
};
