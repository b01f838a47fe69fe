// What makes each shipped alert fire: one break of the running installation for each, and how it is mended.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { openPostgresStore } from '@underpass/control/platform/store/postgres.ts';
import { freePorts } from '@underpass/tests/helpers/port.ts';
import { type ProcessOf, startProcess, startProgram, temporaryHome } from '@underpass/tests/helpers/process.ts';
import { visit } from '@underpass/tests/helpers/visitor.ts';
import { type AlarmStage, startClients } from './alarms-stage.ts';
import { askForMail } from './faults-changes.ts';
import { sleep } from './scale-region.ts';

export interface Break {
  readonly alert: string;
  readonly cause: string;
  /** Returns how it is mended. */
  readonly run: (stage: AlarmStage) => Promise<() => Promise<void> | void>;
}

/** Does it again and again until the returned function is called, which waits for the last time. */
function repeat(everyMs: number, work: () => Promise<unknown>): () => Promise<void> {
  let stopped = false;
  const run = async (): Promise<void> => {
    while (!stopped) {
      await work().catch(() => {});
      await sleep(everyMs);
    }
  };
  const running = run();
  return async () => {
    stopped = true;
    await running;
  };
}

/** Lets the process run for only a part of the time. */
const starve = ({ child }: ProcessOf, stoppedMs: number, runningMs: number): (() => Promise<void>) =>
  repeat(runningMs, async () => {
    child.kill('SIGSTOP');
    await sleep(stoppedMs);
    child.kill('SIGCONT');
  });

/** Another edge of the region on ports of its own, which Prometheus reads too. `program`: what starts Node. */
async function startOddEdge(
  { t, edgeEnv, watcher, targets }: AlarmStage,
  more: Record<string, string>,
  program: readonly [string, ...string[]] = [process.execPath],
): Promise<{ readonly httpsPort: number; readonly end: () => Promise<void> }> {
  const [https = 0, http = 0, metrics = 0] = await freePorts(3);
  const ports = {
    UNDERPASS_EDGE_HTTPS_PORT: String(https),
    UNDERPASS_EDGE_HTTP_PORT: String(http),
    UNDERPASS_METRICS_PORT: String(metrics),
  };
  const env = { ...edgeEnv, ...ports, UNDERPASS_HOME: await temporaryHome(t), ...more };
  const [first, ...rest] = program;
  const edge = startProgram(t, first, [...rest, 'server/main.ts', 'start'], env);
  await edge.listening(metrics);
  await watcher.watch({ ...targets, odd: metrics });
  return {
    httpsPort: https,
    end: async () => {
      await watcher.watch(targets);
      await edge.end('SIGTERM');
    },
  };
}

/** Opens so many connections, and opens those again that the edge ends. */
function keepOpen(port: number, count: number): () => Promise<void> {
  const sockets = new Set<Socket>();
  const stop = repeat(200, async () => {
    while (sockets.size < count) {
      const socket = connect(port, '127.0.0.1');
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    }
  });
  return async () => {
    await stop();
    for (const socket of sockets) socket.destroy();
  };
}

/** Begins an answer and never ends it. */
async function startEndlessUpstream({ t }: AlarmStage): Promise<{ readonly url: string; readonly end: () => void }> {
  const server = createServer((_, response) => {
    response.writeHead(200).write('begun');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const end = (): void => {
    server.closeAllConnections();
    server.close();
  };
  t.after(end);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end };
}

const callsOf = ({ region }: AlarmStage): (() => Promise<void>) =>
  repeat(200, () => region.account.call('GET', `/api/tunnels?project=${region.account.project}`));

/** What one machine cannot break for real, and why: tests/docs/alerts.test.ts evaluates these by made-up figures. */
export const unbroken: Readonly<Record<string, string>> = {
  UnderpassBusy: 'a client takes 1,024 connections that its service does not accept before it says so',
};

export const breaks = (clients: { running: ProcessOf[]; readonly upstream: string }): readonly Break[] => [
  {
    ...{ alert: 'UnderpassDependencyAway', cause: '`kill -9` of NATS' },
    run: async ({ nats }) => {
      await nats.kill();
      return () => nats.start();
    },
  },
  {
    ...{ alert: 'UnderpassDown', cause: '`kill -9` of an edge' },
    run: async ({ edges: [, edge] }) => {
      await edge.process.end('SIGKILL');
      return () => edge.restart();
    },
  },
  {
    ...{ alert: 'UnderpassEdgeWithoutControl', cause: '`kill -9` of control' },
    run: async ({ region }) => {
      await region.control.end('SIGKILL');
      return () => region.restartControl();
    },
  },
  {
    ...{ alert: 'UnderpassHopsBreak', cause: 'the hop port of an edge is refused to the other' },
    run: async ({ paths: { hop } }) => {
      const { backends } = hop;
      hop.backends = [];
      hop.cut();
      return () => {
        hop.backends = backends;
      };
    },
  },
  {
    ...{ alert: 'UnderpassEdgeCopyNotKept', cause: 'the disk of an edge is full, and a tunnel changes' },
    run: async ({ disk, region }) => {
      await disk.fill();
      await region.createTunnel('on-a-full-disk');
      return () => disk.free();
    },
  },
  {
    ...{ alert: 'UnderpassTcpPortsClosed', cause: 'a region gives ports that the settings of its edges do not name' },
    run: async ({ region: { account } }) => {
      const body = { name: 'closed', region: 'eu', type: 'tcp', proxyProtocol: '', ingressDomains: [] };
      await account.call('PATCH', '/api/operator/regions/eu', { tcpPorts: '20000-20099' });
      const { status } = await account.call('POST', `/api/tunnels?project=${account.project}`, body);
      if (status >= 300) throw new Error(`the tunnel was refused with ${status}`);
      return async () => void (await account.call('DELETE', `/api/tunnels/closed?project=${account.project}`));
    },
  },
  {
    ...{ alert: 'UnderpassFeedFlaps', cause: 'the feed of an edge is cut every 3 s, and comes back at once' },
    run: async ({ paths: { feed } }) => repeat(3_000, async () => feed.cut()),
  },
  {
    ...{ alert: 'UnderpassClientsGone', cause: 'all clients are killed' },
    run: async (stage) => {
      for (const client of clients.running) await client.end('SIGKILL');
      return async () => {
        clients.running = await startClients(stage, clients.upstream);
      };
    },
  },
  {
    ...{ alert: 'UnderpassCallsFail', cause: '`kill -9` of Postgres, with five calls a second' },
    run: async (stage) => {
      const stop = callsOf(stage);
      await stage.postgres.kill();
      return async () => {
        await stage.postgres.start();
        await stop();
      };
    },
  },
  {
    ...{ alert: 'UnderpassCallsSlow', cause: 'Postgres is stopped for 1.7 s of every 2 s' },
    run: async (stage) => {
      const stop = callsOf(stage);
      const go = repeat(300, async () => {
        stage.postgres.signal('SIGSTOP');
        await sleep(1_700);
        stage.postgres.signal('SIGCONT');
      });
      return async () => {
        await go();
        await stop();
      };
    },
  },
  {
    ...{ alert: 'UnderpassJobsWait', cause: 'the mail server is away, and twelve mails are asked for' },
    run: async ({ databaseUrl, paths: { mail } }) => {
      const { backends } = mail;
      mail.backends = [];
      mail.cut();
      const store = await openPostgresStore(databaseUrl, () => {});
      for (let index = 0; index < 12; index++) await askForMail(store, `alarm-${index}@example.com`);
      return async () => {
        mail.backends = backends;
        // A retry waits for minutes after some failures.
        await store.write(async (trx) => void (await trx.deleteFrom('jobs').execute()));
        await askForMail(store, 'last@example.com');
        await store.close();
      };
    },
  },
  {
    ...{ alert: 'UnderpassBackupLate', cause: 'a backup into a folder that is not there' },
    run: async (stage) => {
      const backup = async (file: string): Promise<void> => {
        const command = startProcess(stage.t, ['server/main.ts', 'backup', file, '--database-only'], { ...stage.env });
        await once(command.child, 'close');
      };
      await backup('/nowhere/backup.jsonl');
      return async () => backup(join(await temporaryHome(stage.t), 'backup.jsonl'));
    },
  },
  {
    ...{ alert: 'UnderpassTunnelsBreak', cause: 'a client is killed again and again while it carries thirty answers' },
    run: async (stage) => {
      const { tunnels, front } = stage;
      for (const client of clients.running) await client.end('SIGKILL');
      const upstream = await startEndlessUpstream(stage);
      const [tunnel] = tunnels;
      const door = { host: tunnel?.host ?? '', port: front.port, caPem: stage.caPem };
      const stop = repeat(0, async () => {
        const client = await stage.startClient(upstream.url);
        const visits = Array.from({ length: 30 }, () => visit(door).catch(() => {}));
        await sleep(1_000);
        await client.end('SIGKILL');
        await Promise.all(visits);
      });
      return async () => {
        await stop();
        upstream.end();
        clients.running = await startClients(stage, clients.upstream);
      };
    },
  },
  {
    ...{ alert: 'UnderpassEventLoopLags', cause: 'an edge gets the processor for 0.1 s of every 0.5 s' },
    run: async ({ edges: [, edge] }) => starve(edge.process, 400, 100),
  },
  {
    ...{ alert: 'UnderpassFilesRunOut', cause: 'an edge may open 200 files, and 142 connections are open' },
    run: async (stage) => {
      const few: readonly [string, ...string[]] = ['sh', '-c', 'ulimit -n 200; exec "$0" "$@"', process.execPath];
      const edge = await startOddEdge(
        stage,
        { UNDERPASS_EDGE_WORKERS: '1', UNDERPASS_EDGE_CONNECTIONS_PER_ADDRESS: '1000' },
        few,
      );
      const close = keepOpen(edge.httpsPort, 142);
      return async () => {
        await close();
        await edge.end();
      };
    },
  },
  {
    ...{ alert: 'UnderpassEdgeFull', cause: 'an edge may have 100 connections, and 85 are open' },
    run: async (stage) => {
      const limits = {
        UNDERPASS_EDGE_WORKERS: '1',
        UNDERPASS_EDGE_CONNECTIONS: '100',
        UNDERPASS_EDGE_CONNECTIONS_PER_ADDRESS: '1000',
      };
      const edge = await startOddEdge(stage, limits);
      const close = keepOpen(edge.httpsPort, 85);
      return async () => {
        await close();
        await edge.end();
      };
    },
  },
  {
    ...{ alert: 'UnderpassEdgeNotReady', cause: 'a new edge starts with a wrong key' },
    run: async (stage) => (await startOddEdge(stage, { UNDERPASS_EDGE_KEY: 'k'.repeat(43) })).end,
  },
  {
    ...{ alert: 'UnderpassCertificateEnds', cause: "the given certificate of the region's names ends in five days" },
    run: async ({ giveCertificates }) => {
      await giveCertificates(5);
      return () => giveCertificates(60);
    },
  },
  {
    ...{ alert: 'UnderpassClockJumped', cause: "control's clock jumps 100 hours ahead, and control starts again" },
    // The wait of 24 hours cannot be mended, so this is the last one.
    run: async ({ clock, region }) => {
      await clock.set(100);
      // Control looks at its start, and then every ten minutes.
      await region.control.end('SIGTERM');
      await region.restartControl();
      return () => {};
    },
  },
];
