// haproxy in front of the edges and of control, with the health checks of docs/operations.md (Several edges behind a balancer).
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type ProcessOf, startProgram } from '@underpass/tests/helpers/process.ts';
import { requireTool } from '@underpass/tests/helpers/tool.ts';

export interface Backend {
  readonly name: string;
  readonly port: number;
  readonly httpPort?: number;
  /** Answers /healthz. */
  readonly checkPort: number;
  /** Gets the visitor's address in a PROXY header. */
  readonly proxy: boolean;
}

export interface BalancerOptions {
  readonly folder: string;
  /** The address from which it dials the edges. */
  readonly address: string;
  readonly ports: { readonly eu: number; readonly us: number; readonly http: number; readonly control: number };
  readonly eu: readonly Backend[];
  readonly us: readonly Backend[];
  readonly control: readonly Backend[];
}

export interface FaultsBalancer {
  /** The servers that it sends nobody to. */
  down(): Promise<readonly string[]>;
  /** `drain`: new connections go elsewhere, as when a pod leaves its Service. */
  set(server: string, state: 'drain' | 'ready'): Promise<void>;
  end(): Promise<void>;
}

const servers = (backends: readonly Backend[], portOf: (backend: Backend) => number): string =>
  backends
    .map((each) => {
      const to = `127.0.0.1:${portOf(each)}${each.proxy ? ' send-proxy-v2' : ''}`;
      return `  server ${each.name} ${to} check port ${each.checkPort}\n  server ${each.name}-unchecked ${to} backup\n`;
    })
    .join('');

/** A check without a Host is refused by control. */
const check = '  option httpchk\n  http-check send meth GET uri /healthz ver HTTP/1.1 hdr Host underpass\n';

const backend = (name: string, lines: string): string => `backend ${name}\n${check}${lines}`;

const render = ({ folder, address, ports, eu, us, control }: BalancerOptions): string => `
global
  stats socket ${join(folder, 'haproxy')} mode 600 level admin
defaults
  mode tcp
  source ${address}
  balance leastconn
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  timeout check 2s
  retries 3
  option redispatch 1
  option allbackups
  default-server inter 1s fall 3 rise 2 tcp-ut 15s
frontend eu
  bind 127.0.0.1:${ports.eu}
  default_backend eu
frontend us
  bind 127.0.0.1:${ports.us}
  default_backend us
frontend http
  bind 127.0.0.1:${ports.http}
  default_backend eu_http
frontend control
  bind 127.0.0.1:${ports.control}
  default_backend control
${backend(
  'eu',
  servers(eu, ({ port }) => port),
)}
${backend(
  'us',
  servers(us, ({ port }) => port),
)}
${backend(
  'eu_http',
  servers(eu, ({ httpPort = 0 }) => httpPort),
)}
${backend(
  'control',
  servers(control, ({ port }) => port),
)}
`;

/** Prints when and why a part ended, also one that nothing here ended: a row may have failed by that alone. */
export function noteEnd(name: string, { child, text }: ProcessOf): void {
  child.once('exit', (code, signal) => {
    const why = code ?? signal;
    const last = why === 0 || why === 'SIGKILL' ? '' : `: ${text().slice(-1_000)}`;
    process.stderr.write(`  ${(performance.now() / 1_000).toFixed(1)} ${name} ended by ${why}${last}\n`);
  });
}

export async function startFaultsBalancer(t: TestContext, options: BalancerOptions): Promise<FaultsBalancer> {
  const file = join(options.folder, 'haproxy.cfg');
  await writeFile(file, render(options));
  const haproxy = startProgram(t, requireTool('haproxy'), ['-db', '-f', file]);
  noteEnd('haproxy', haproxy);
  await haproxy.listening(options.ports.control);
  const command = async (text: string): Promise<string> => {
    const socket = connect(join(options.folder, 'haproxy'));
    socket.end(`${text}\n`);
    let answer = '';
    socket.setEncoding('utf8').on('data', (part) => {
      answer += part;
    });
    await once(socket, 'close');
    return answer;
  };
  const lists = [options.eu, options.us, options.eu, options.control];
  return {
    down: async () => {
      const rows = (await command('show stat')).split('\n').map((line) => line.split(','));
      const isServer = (name = ''): boolean => lists.flat().some((each) => each.name === name);
      return rows.filter(([, name, ...rest]) => isServer(name) && !rest[15]?.startsWith('UP')).map(([, name = '']) => name);
    },
    set: async (server, state) => {
      for (const pool of ['eu', 'us', 'eu_http', 'control']) await command(`set server ${pool}/${server} state ${state}`);
    },
    end: () => haproxy.end('SIGKILL'),
  };
}
