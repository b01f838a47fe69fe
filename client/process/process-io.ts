// The real Io of this process. It loads what only some commands need when they need it: modules cost memory in a client that runs for months.
import { homedir, hostname, userInfo } from 'node:os';
import type { CommandResult, Io, TextOut } from './io.ts';
import { takeKeys } from './keys.ts';
import { chooseProxyOfUrl, formatProxy } from './proxy.ts';
import { builtFor } from './version.ts';

export function createProcessIo(env: Io['env'] = process.env): Io {
  return {
    bytes: { input: process.stdin, output: process.stdout },
    stdin: process.stdin,
    stdout: textOut(process.stdout),
    stderr: textOut(process.stderr),
    ...surroundingsOf(env),
    ...createFetch(env),
    onSignal(signal, listener) {
      process.on(signal, listener);
      return () => process.off(signal, listener);
    },
    onReaderGone: () => {},
    askSecret,
    takeKeys,
  };
}

/** What is around the process, without its terminal, its signals and settings that all code of the process shares. */
export function surroundingsOf(env: Io['env']) {
  return {
    env,
    cwd: orElse(process.cwd, '/'),
    home: orElse(homedir, '/'),
    userName: orElse(() => userInfo().username, String(process.getuid?.())),
    hostName: hostname(),
    userId: process.getuid?.() ?? null,
    platform: process.platform === 'darwin' || process.platform === 'win32' ? process.platform : 'linux',
    arch: process.arch,
    self: builtFor === undefined ? [process.execPath, process.argv[1] ?? ''] : [process.execPath],
    now: Date.now,
    execute: (file, args, options) => execute(env, file, args, options),
    start: (file, args) => start(env, file, args),
  } satisfies Partial<Io>;
}

/** Every call takes the proxy that proxy.ts chooses. Both runtimes would choose by rules of their own. */
function createFetch(env: Io['env']): Pick<Io, 'fetch' | 'trust'> {
  const tls = () => process.getBuiltinModule('node:tls');
  const withSystem = (caPem: string): string[] => [...tls().getCACertificates('default'), caPem];
  if (process.versions.bun === undefined) {
    const useProxy = Object.keys(env).some((name) => isProxySetting(name)) ? createSwitch() : () => {};
    return {
      async fetch(input, init) {
        useProxy(proxyOf(env, input));
        return fetch(input, init);
      },
      trust: (caPem) => tls().setDefaultCACertificates(withSystem(caPem)),
    };
  }
  // The runtime of the compiled program takes CA and proxy with each request; `false` is the one value that means: directly.
  let trusted = {};
  return {
    async fetch(input, init) {
      const proxy = proxyOf(env, input) ?? false;
      return fetch(input, { ...init, ...trusted, proxy } as RequestInit);
    },
    trust(caPem) {
      trusted = { tls: { ca: withSystem(caPem) } };
    },
  };
}

const isProxySetting = (name: string): boolean => /^(https?|all|no)_proxy$/i.test(name);

/** Returns the environment, and takes the proxy settings out of the process: the runtime must not read them (createFetch). */
export function takeEnvironment(): Io['env'] {
  const env = { ...process.env };
  for (const name of Object.keys(env)) if (isProxySetting(name)) delete process.env[name];
  return env;
}

/** The URL of the proxy; undefined means: directly. */
function proxyOf(env: Io['env'], input: string | URL | Request): string | undefined {
  const chosen = chooseProxyOfUrl(env, new URL(input instanceof Request ? input.url : input));
  if (!chosen.ok) throw new Error(`HTTPS_PROXY: ${chosen.message}`);
  return chosen.value === null ? undefined : formatProxy(chosen.value);
}

/** Node has one proxy for all calls, which fetch reads as it begins. Until the first call it may be one of NODE_USE_ENV_PROXY. */
function createSwitch(): (proxy: string | undefined) => void {
  let current: string | null | undefined = null;
  return (proxy) => {
    if (proxy === current) return;
    current = proxy;
    const settings = proxy === undefined ? { https_proxy: 'http://unused', no_proxy: '*' } : { https_proxy: proxy, no_proxy: '' };
    process.getBuiltinModule('node:http').setGlobalProxyFromEnv(settings);
  };
}

/** Node throws if the user id has no name or home, as in some containers, or if the current folder is deleted. */
function orElse(read: () => string, otherwise: string): string {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function textOut(stream: NodeJS.WriteStream): TextOut {
  return {
    write: (text) => void stream.write(text),
    isTTY: stream.isTTY === true,
    columns: () => stream.columns ?? 80,
    rows: () => stream.rows ?? 24,
    onResize(listener) {
      stream.on('resize', listener);
      return () => stream.off('resize', listener);
    },
  };
}

/** Node's line editor with an output that discards everything: it turns the echo off and restores the terminal. */
function askSecret(question: string): Promise<string> {
  const { createInterface } = process.getBuiltinModule('node:readline');
  const { Writable } = process.getBuiltinModule('node:stream');
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const editor = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write(question);
  return new Promise<string>((resolve) => {
    let text = '';
    editor.once('line', (line) => {
      text = line;
      editor.close();
    });
    editor.once('SIGINT', () => {
      editor.close();
      process.kill(process.pid, 'SIGINT');
    });
    editor.once('close', () => {
      process.stderr.write('\n');
      resolve(text);
    });
  });
}

function start(env: Io['env'], file: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = process.getBuiltinModule('node:child_process').spawn(file, [...args], { env, detached: true, stdio: 'ignore' });
    child.once('spawn', () => resolve(true)).once('error', () => resolve(false));
    child.unref();
  });
}

const executeTimeoutMs = 60_000;
const maxOutputBytes = 1024 * 1024;

function execute(
  env: Io['env'],
  file: string,
  args: readonly string[],
  options: { readonly input?: string } = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const limits = { timeout: executeTimeoutMs, maxBuffer: maxOutputBytes, encoding: 'utf8' as const, env };
    const child = process.getBuiltinModule('node:child_process').execFile(file, [...args], limits, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 127;
      resolve({ code, stdout, stderr: stderr === '' && error !== null && code === 127 ? error.message : stderr });
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
  });
}
