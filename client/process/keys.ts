// Reads typed keys without echo while the live status is shown, because an echo would break its lines. Raw mode also stops the
// terminal from sending signals for Ctrl-C and Ctrl-Z, so this file sends them to the process group, as the terminal does.
import { readFileSync } from 'node:fs';
import type { KeyHooks } from './io.ts';

const signals: Readonly<Record<string, NodeJS.Signals>> = { '\x03': 'SIGINT', '\x1a': 'SIGTSTP', '\x1c': 'SIGQUIT' };

/** Returns a function that gives the keys back. Does nothing on Windows, whose terminal sends signals in another way. */
export function takeKeys({ onLeave, onReturn }: KeyHooks): () => void {
  const { stdin } = process;
  if (!stdin.isTTY || stdin.readableEnded || stdin.destroyed || process.platform === 'win32') return () => {};
  let taken = false;
  const take = (): void => {
    if (taken || !ownsTerminal()) return;
    taken = true;
    stdin.setRawMode(true).on('data', obey).resume();
  };
  const give = (): void => {
    if (!taken) return;
    taken = false;
    stdin.off('data', obey).pause();
    if (ownsTerminal()) stdin.setRawMode(false);
  };
  const obey = (chunk: Buffer): void => {
    for (const key of chunk.toString('latin1')) {
      const signal = signals[key];
      if (signal !== undefined) send(signal);
    }
  };
  const send = (signal: NodeJS.Signals): void => {
    if (signal !== 'SIGINT') {
      give();
      onLeave();
    }
    process.kill(0, signal);
  };
  // If the keys are still taken, SIGSTOP stopped the process without warning.
  const comeBack = (): void => {
    if (taken) onLeave();
    give();
    take();
    onReturn();
  };
  // A terminal that closes sends SIGHUP as well.
  stdin.on('error', () => {});
  process.on('SIGCONT', comeBack).on('exit', give);
  take();
  return () => {
    process.off('SIGCONT', comeBack).off('exit', give);
    give();
  };
}

/** A background job must not change the terminal: the system would stop it (SIGTTOU). */
function ownsTerminal(): boolean {
  try {
    const [group, foreground] = process.platform === 'linux' ? groupsOfLinux() : groupsOfPs();
    return group !== undefined && group === foreground;
  } catch {
    return false;
  }
}

/** proc_pid_stat(5): after the name in brackets come state, parent, group, session, terminal and the terminal's foreground group. */
function groupsOfLinux(): readonly (string | undefined)[] {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [fields[2], fields[5]];
}

function groupsOfPs(): readonly (string | undefined)[] {
  const argv = ['-o', 'pgid=,tpgid=', '-p', String(process.pid)];
  const answer = process
    .getBuiltinModule('node:child_process')
    .execFileSync('/bin/ps', argv, { encoding: 'utf8', timeout: 1_000, stdio: ['ignore', 'pipe', 'ignore'] });
  return answer.trim().split(/\s+/);
}
