// A temporary NATS server on a free port, which a test can kill and start again.
import type { TestContext } from 'node:test';
import { freePorts } from './port.ts';
import { startProgram } from './process.ts';
import { requireTool } from './tool.ts';

export interface TestNats {
  readonly url: string;
  /** kill -9. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** SIGSTOP or SIGCONT. */
  signal(signal: NodeJS.Signals): void;
}

export async function startNats(t: TestContext, host = '127.0.0.1'): Promise<TestNats> {
  const [port = 0] = await freePorts(1);
  const run = async () => {
    const started = startProgram(t, requireTool('nats-server'), ['-a', host, '-p', String(port)]);
    await started.listening(port, host);
    return started;
  };
  let server = await run();
  return {
    url: `nats://${host}:${port}`,
    kill: () => server.end('SIGKILL'),
    start: async () => {
      server = await run();
    },
    signal: (signal) => void server.child.kill(signal),
  };
}
