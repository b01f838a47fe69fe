// An upstream whose way to fail (`whim`) a test chooses: it hangs, resets, ends early or answers garbage.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

const head = 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n';
const whole = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const unframed = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end';

/** What it does with a connection after a request arrives. */
const answers = {
  'answers well': (socket: Socket) => void socket.write(whole),
  'hangs before the answer': () => {},
  'hangs inside the head': (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-'),
  'hangs inside the body': (socket: Socket) => void socket.write(`${head}begun`),
  'ends before the answer': (socket: Socket) => void socket.end(),
  'resets before the answer': (socket: Socket) => void socket.resetAndDestroy(),
  'ends inside the head': (socket: Socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-'),
  'ends inside the body': (socket: Socket) => void socket.end(`${head}begun`),
  'resets inside the body': (socket: Socket) =>
    void socket.write(`${head}begun`, () => setImmediate(() => socket.resetAndDestroy())),
  'answers garbage': (socket: Socket) => void socket.write(Buffer.from('\x16\x03\x01 not http at all\r\n\r\n', 'latin1')),
  'half-closes after an answer': (socket: Socket) => void socket.end(whole),
  'ends an answer without a length': (socket: Socket) => void socket.end(unframed),
  'resets an answer without a length': (socket: Socket) =>
    void socket.write(unframed, () => setImmediate(() => socket.resetAndDestroy())),
};

export type Whim = keyof typeof answers | 'ends at once' | 'resets at once' | 'refuses';

export interface FickleUpstream {
  readonly url: string;
  whim: Whim;
  /** How many connections are open. */
  readonly open: number;
  /** Stops listening, so that connections are refused. */
  refuse(): Promise<void>;
}

export async function startFickleUpstream(t: TestContext): Promise<FickleUpstream> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => {});
    serve(socket, upstream.whim);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const upstream: FickleUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    whim: 'answers well',
    get open() {
      return sockets.size;
    },
    refuse: () => close(server, sockets),
  };
  return upstream;
}

function serve(socket: Socket, whim: Whim): void {
  socket.once('end', () => socket.end());
  if (whim === 'ends at once') socket.resume().end();
  else if (whim === 'resets at once') socket.resetAndDestroy();
  else if (whim !== 'refuses') socket.on('data', () => answers[whim](socket));
}

async function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of sockets) socket.destroy();
  await closed;
}
