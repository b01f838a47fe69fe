// An http.Server of this process as the upstream of a tunnel: it gets visitors' connections without listening anywhere.

import type { Server } from 'node:http';
import type { TunnelUpstreams } from '../carry/api.ts';
import type { InsideUpstream } from '../config/loaded-tunnel.ts';
import { connectVisitor } from './visitor-socket.ts';

/** Stands where an address would. Nothing dials it. */
export const insideUpstreams: TunnelUpstreams = {
  type: 'http',
  list: [{ domain: null, upstream: { scheme: 'http', host: 'handler.invalid', port: 80 } }],
};

/** `line` is what the live status shows in place of an address. */
export function insideOf(server: Server, line: string): InsideUpstream {
  return {
    lines: [line],
    openInside(request) {
      const { relayed, socket } = connectVisitor(request);
      server.emit('connection', socket);
      return relayed;
    },
  };
}
