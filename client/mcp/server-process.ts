// One process of an MCP server: lines out of its standard output, messages into its standard input, standard error to the log.

import { type ChildProcess, spawn } from 'node:child_process';
import { createLineReader, idOfCutLine } from './core/lines.ts';
import { type Json, type Message, parseMessage } from './core/message.ts';
import type { McpLimits } from './limits.ts';

interface ServerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ProcessEvents {
  readonly onMessage: (message: Message) => void;
  /** A message was longer than the bound. The id is that of the request which it answers, if known. */
  readonly onCut: (id: number | undefined) => void;
  /** A line for the log: of standard error, or of standard output if it is no message. */
  readonly onLog: (line: string) => void;
  /** Called once, with the reason. */
  readonly onEnd: (reason: string) => void;
}

export interface ServerProcess {
  readonly pid: number | undefined;
  /** False if the server does not read, or is gone. */
  readonly send: (body: Json) => boolean;
  /** Ends its input, then sends SIGTERM, then SIGKILL. */
  readonly end: () => Promise<void>;
}

export function startServerProcess(command: ServerCommand, limits: McpLimits, events: ProcessEvents): ServerProcess {
  // A process group of its own: Ctrl-C in the terminal reaches this program alone, which ends the server after its open requests.
  const detached = process.platform !== 'win32';
  const child = spawn(command.file, [...command.args], { cwd: command.cwd, env: command.env, stdio: 'pipe', detached });
  const ended = endOf(child);
  void ended.then(events.onEnd);
  child.stdin.on('error', () => {});
  child.stdout.on('error', () => {}).on('data', messageReader(limits, events));
  child.stderr.on('error', () => {}).on('data', logReader(limits, events));
  return {
    pid: child.pid,
    send(body) {
      // It did not start: its end, which follows, says why.
      if (child.pid === undefined) return true;
      if (!child.stdin.writable || child.stdin.writableLength > limits.unreadBytes) return false;
      child.stdin.write(`${JSON.stringify(body)}\n`);
      return true;
    },
    end: () => endPolitely(child, ended, limits.endMs),
  };
}

/** The time for its last words, which may be read after its exit; a process that it started may hold its output open for longer. */
const lastWordsMs = 500;

/** Resolves with the reason. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', ({ code, message }: NodeJS.ErrnoException) =>
      resolve(code === 'ENOENT' ? 'no such program' : (code ?? message)),
    );
    child.once('exit', (code, signal) => {
      const end = () => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`);
      child.once('close', end);
      setTimeout(end, lastWordsMs).unref();
    });
  });
}

function messageReader(limits: McpLimits, { onMessage, onCut, onLog }: ProcessEvents): (chunk: Buffer) => void {
  return createLineReader(limits.lineBytes, {
    onLine(line) {
      const parsed = parseMessage(line);
      if (parsed.ok) onMessage(parsed.message);
      else onLog(`(not a message) ${line}`);
    },
    onCut(head, tail) {
      onLog(`(a message of more than ${limits.lineBytes} bytes was dropped)`);
      onCut(idOfCutLine(head, tail));
    },
  });
}

const logReader = ({ logLineChars }: McpLimits, { onLog }: ProcessEvents): ((chunk: Buffer) => void) =>
  createLineReader(4 * logLineChars, { onLine: onLog, onCut: (head) => onLog(`${head}…`) });

async function endPolitely(child: ChildProcess, ended: Promise<string>, endMs: number): Promise<void> {
  child.stdin?.end();
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (await endsWithin(ended, endMs)) return;
    kill(child, signal);
  }
  await endsWithin(ended, endMs);
}

async function endsWithin(ended: Promise<string>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const isEnded = await Promise.race([ended.then(() => true), late.promise]);
  clearTimeout(timer);
  return isEnded;
}

/** Sends the signal to its whole group: `npx` starts the server as a process of its own. */
function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended.
  }
}
