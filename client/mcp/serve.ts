// `underpass mcp`: the bridge as the upstream of a tunnel inside this process.

import { createServer } from 'node:http';
import { basename } from 'node:path';
import type { InsideUpstream } from '../config/loaded-tunnel.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { LogEvent } from '../terminal/log-line.ts';
import { insideOf } from '../tunnels/inside-server.ts';
import { createBridge } from './bridge.ts';
import { isObject } from './core/message.ts';
import { createMcpHandler } from './http.ts';
import { mcpLimits } from './limits.ts';
import type { ServerEnd } from './running-server.ts';
import { createServerLog } from './server-log.ts';
import { startServerProcess } from './server-process.ts';

interface McpOptions {
  readonly command: readonly string[];
  readonly isShared: boolean;
  readonly report: (event: LogEvent) => void;
}

interface McpUpstream {
  readonly inside: InsideUpstream;
  /** What the server calls itself. */
  readonly name: string;
  readonly end: () => Promise<void>;
}

/** Starts a server once, to see that it answers, before a tunnel leads to it. */
export async function startMcpUpstream(io: Io, { command, isShared, report }: McpOptions): Promise<McpUpstream> {
  const [file = '', ...args] = command;
  const env = envOf(io.env);
  const write = (text: string) => report({ tunnel: '*', event: 'server-log', text });
  const log = createServerLog({ env, limits: mcpLimits, now: io.now, write });
  let last: ServerEnd | undefined;
  const bridge = createBridge({
    start: (events) => startServerProcess({ file, args, cwd: io.cwd, env }, mcpLimits, events),
    ...{ isShared, limits: mcpLimits, now: io.now, onLog: log },
    onEnd(end) {
      last = end;
      if (end.how !== 'asked') report({ tunnel: '*', event: 'server-ended', text: end.reason });
    },
  });
  const opened = await bridge.check();
  if (opened === undefined) {
    await bridge.end();
    throw new ClientError(
      'mcp-server-silent',
      `'${file}' (${last?.how === 'asked' || last === undefined ? 'no answer' : last.reason})`,
    );
  }
  const handle = createMcpHandler(bridge, mcpLimits);
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      report({ tunnel: '*', event: 'problem', code: 'unexpected', text: String(error) });
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    });
  });
  // Node checks the time limits of requests once a server listens.
  server.emit('listening');
  const end = async (): Promise<void> => {
    await bridge.end();
    server.close();
  };
  return { inside: insideOf(server, `MCP server ${basename(file)}`), name: nameOf(opened.result, basename(file)), end };
}

/** Sign-ins and tokens of Underpass are not for the server. */
function envOf(env: Io['env']): Io['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.toUpperCase().startsWith('UNDERPASS_')));
}

function nameOf({ serverInfo, _meta }: Readonly<Record<string, unknown>>, otherwise: string): string {
  const info = isObject(serverInfo) ? serverInfo : isObject(_meta) ? _meta['io.modelcontextprotocol/serverInfo'] : undefined;
  if (!isObject(info) || typeof info.name !== 'string') return otherwise;
  return `${info.name} ${typeof info.version === 'string' ? info.version : ''}`.trim().slice(0, 200);
}
