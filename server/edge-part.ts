// The edge of this process: in role all it is fed in memory, in role edge it dials control.

import type { Duplex } from 'node:stream';
import { createEdge, type Edge } from '@underpass/edge/edge.ts';
import type { Logger } from 'pino';
import { keepEdgeId, openHome } from './home.ts';
import { portError } from './listen.ts';
import type { Settings } from './settings.ts';
import { software } from './version.ts';

/** The dial of an edge in its own process group. */
export type FeedSource = () => Promise<Duplex>;

export async function openEdge(settings: Settings, feed: FeedSource, log: Logger): Promise<Edge> {
  const home = await openHome(settings.home);
  const { region, listen: host, edgeHttpsPort, edgeHttpPort, publicHttpsPort, trustedBalancers } = settings;
  try {
    return await createEdge({
      region,
      edgeId: settings.edgeId ?? (await keepEdgeId(home)),
      software,
      regionHosts: [settings.dataPlaneHost],
      https: { host, port: edgeHttpsPort },
      http: { host, port: edgeHttpPort },
      publicHttpsPort,
      balancers: trustedBalancers,
      home,
      feed,
      log,
    });
  } catch (error) {
    throw portError(error, 'UNDERPASS_EDGE_HTTPS_PORT or UNDERPASS_EDGE_HTTP_PORT');
  }
}
