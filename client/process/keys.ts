// The keys of the terminal while the live status stands: taken unseen, because their echo would tear the block. That takes
// the signals of the keyboard away too, so they are sent from here, to the whole group, as the terminal does it.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { KeyHooks } from './io.ts';

const signals: Readonly<Record<string, NodeJS.Signals>> = { '\x03': 'SIGINT', '\x1a': 'SIGTSTP', '\x1c': 'SIGQUIT' };

/** Answers how to give them back. Does nothing on Windows, whose terminal sends its signals otherwise. */
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
  // With the keys still taken it was stopped without a word (SIGSTOP).
  const comeBack = (): void => {
    if (taken) onLeave();
    give();
    take();
    onReturn();
  };
  // A terminal that vanishes is told by SIGHUP.
  stdin.on('error', () => {});
  process.on('SIGCONT', comeBack).on('exit', give);
  take();
  return () => {
    process.off('SIGCONT', comeBack).off('exit', give);
    give();
  };
}

/** A job in the background that changed the terminal would be stopped for it (SIGTTOU). */
function ownsTerminal(): boolean {
  try {
    const [group, foreground] = process.platform === 'linux' ? groupsOfLinux() : groupsOfPs();
    return group !== undefined && group === foreground;
  } catch {
    return false;
  }
}

/** proc_pid_stat(5): after the name in brackets state, parent, group, session, terminal and the terminal's foreground group. */
function groupsOfLinux(): readonly (string | undefined)[] {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [fields[2], fields[5]];
}

function groupsOfPs(): readonly (string | undefined)[] {
  const argv = ['-o', 'pgid=,tpgid=', '-p', String(process.pid)];
  const answer = execFileSync('/bin/ps', argv, { encoding: 'utf8', timeout: 1_000, stdio: ['ignore', 'pipe', 'ignore'] });
  return answer.trim().split(/\s+/);
}
