// Runs the command line for tests: in this process, or the compiled program that UNDERPASS_TEST_BINARY names.
// Both take arguments, environment, standard input and signals, and return text and exit code.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { run } from './cli.ts';
import type { Io, Signal, TextOut } from './process/io.ts';
import { createProcessIo } from './process/process-io.ts';

/** Set if tests run the compiled program. Tests that replace parts of `Io` skip then. */
export const binary: string | undefined = process.env.UNDERPASS_TEST_BINARY;

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** In-process only: replaces parts of the outside world. */
  readonly io?: Partial<Io>;
}

export interface RunningCli {
  readonly ended: Promise<CliResult>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves when standard output or error matches; rejects if the program ends before. */
  readonly seen: (pattern: RegExp) => Promise<void>;
  readonly signal: (signal: Signal) => void;
  /** Only for the compiled program. */
  readonly pid: number | undefined;
}

export interface Cli {
  /** An empty home folder, removed after the test. */
  readonly home: string;
  readonly run: (argv: readonly string[], options?: CliOptions) => Promise<CliResult>;
  readonly start: (argv: readonly string[], options?: CliOptions) => RunningCli;
}

export async function createCli(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<Cli> {
  const home = await mkdtemp(join(tmpdir(), 'underpass-cli-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const base = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), PATH: process.env.PATH ?? '', BROWSER: '', ...env };
  const start = (argv: readonly string[], options: CliOptions = {}) => {
    const settings = {
      env: { ...base, ...options.env },
      cwd: options.cwd ?? home,
      stdin: options.stdin ?? '',
      home,
      io: options.io,
    };
    return binary === undefined ? startInProcess(argv, settings) : startBinary(t, binary, argv, settings);
  };
  return { home, start, run: (argv, options) => start(argv, options).ended };
}

interface StartSettings {
  readonly env: Record<string, string>;
  readonly cwd: string;
  readonly stdin: string;
  readonly home: string;
  readonly io: Partial<Io> | undefined;
}

function startInProcess(argv: readonly string[], settings: StartSettings): RunningCli {
  const out = capture();
  const err = capture();
  const listeners = new Map<Signal, Set<() => void>>();
  const stdin = Object.assign(new PassThrough(), { isTTY: false });
  stdin.end(settings.stdin);
  const io: Io = {
    ...createProcessIo(settings.env),
    bytes: {
      input: stdin,
      output: new Writable({ write: (chunk, _encoding, done) => done(void out.sink.write(String(chunk))) }),
    },
    stdin,
    stdout: out.sink,
    stderr: err.sink,
    cwd: settings.cwd,
    home: settings.home,
    onSignal: (signal, listener) => addListener(listeners, signal, listener),
    ...settings.io,
  };
  const ended = run(argv, io).then((code) => ({ code, stdout: out.text(), stderr: err.text() }));
  const signal = (name: Signal) => {
    for (const listener of [...(listeners.get(name) ?? [])]) listener();
  };
  return { ...running(ended, out, err), signal, pid: undefined };
}

function addListener(listeners: Map<Signal, Set<() => void>>, signal: Signal, listener: () => void): () => void {
  const set = listeners.get(signal) ?? new Set();
  listeners.set(signal, set.add(listener));
  return () => void set.delete(listener);
}

function startBinary(t: TestContext, file: string, argv: readonly string[], settings: StartSettings): RunningCli {
  const child = spawn(file, [...argv], { env: settings.env, cwd: settings.cwd, stdio: 'pipe' });
  t.after(() => child.kill('SIGKILL'));
  const out = capture();
  const err = capture();
  child.stdout.setEncoding('utf8').on('data', out.sink.write);
  child.stderr.setEncoding('utf8').on('data', err.sink.write);
  child.stdin.on('error', () => {}).end(settings.stdin);
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? -1, stdout: out.text(), stderr: err.text() }));
  });
  return { ...running(ended, out, err), signal: (name) => void child.kill(name), pid: child.pid };
}

interface Capture {
  readonly sink: TextOut;
  readonly text: () => string;
  readonly onWrite: (listener: () => void) => () => void;
}

function capture(): Capture {
  let text = '';
  const listeners = new Set<() => void>();
  const write = (chunk: string) => {
    text += chunk;
    for (const listener of [...listeners]) listener();
  };
  const sink: TextOut = { write, isTTY: false, columns: () => 100, rows: () => 24, onResize: () => () => {} };
  const onWrite = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return { sink, text: () => text, onWrite };
}

function running(
  ended: Promise<CliResult>,
  out: Capture,
  err: Capture,
): Pick<RunningCli, 'ended' | 'stdout' | 'stderr' | 'seen'> {
  const seen = (pattern: RegExp) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!pattern.test(out.text()) && !pattern.test(err.text())) return;
        for (const stop of stops) stop();
        resolve();
      };
      const stops = [out.onWrite(look), err.onWrite(look)];
      ended.then(({ code }) => reject(new Error(`ended with ${code} before ${pattern}:\n${out.text()}${err.text()}`)), reject);
      look();
    });
  return { ended, stdout: out.text, stderr: err.text, seen };
}

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

type Answer = { readonly status?: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> };

/** A server that answers from a table of `METHOD /path` without the query, else 404. Strings are sent as text, bytes unchanged. */
export async function startFakeApi(t: TestContext, routes: Readonly<Record<string, Answer | ((call: ApiCall) => Answer)>>) {
  const calls: ApiCall[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const call: ApiCall = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    calls.push(call);
    const route = routes[`${call.method} ${call.path.split('?')[0]}`] ?? { status: 404, body: 'Not found.' };
    const { status = 200, body, headers } = typeof route === 'function' ? route(call) : route;
    const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    response.writeHead(status, { 'content-type': raw ? 'text/plain; charset=utf-8' : 'application/json', ...headers });
    response.end(raw ? body : JSON.stringify(body));
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

/** The calls that every management command makes first. */
export const accountRoutes = {
  'GET /api/projects': { body: [{ id: 'p1', name: 'Acme', role: 'owner' }] },
  'GET /api/user': { body: { email: 'ada@example.com', firstName: 'Ada', defaultProject: 'p1', operator: false } },
} as const;
