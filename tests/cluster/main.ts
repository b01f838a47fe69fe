// npm run cluster: the chart on the API server and the controllers of Kubernetes, with the product's own processes as pods.
// Needs root, Go, helm, Debian's etcd-server, Postgres and NATS, and skips nothing.
import { buildControlPlane } from '../helpers/cluster.ts';
import { movedToOwnNetwork } from '../helpers/own-network.ts';

/** The network of its own has no way to the modules. */
const { path, tookMs } = buildControlPlane();
if (tookMs > 0) process.stderr.write(`built ${path} in ${Math.round(tookMs / 1_000)} s\n`);
if (!movedToOwnNetwork()) await import('./chart.ts');
