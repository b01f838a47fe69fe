// Asks for confirmation before something that cannot be undone.
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';

/** With --yes it returns at once. It asks in a terminal, and throws without one. */
export async function confirm(io: Io, warning: string, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  if (!io.stdin.isTTY) throw new ClientError('confirmation-needed', question);
  io.stderr.write(`${warning}\n${question} [y/N] `);
  if (!/^y(es)?$/i.test(await firstLine(io))) throw new ClientError('not-confirmed', '');
}

async function firstLine(io: Io): Promise<string> {
  let text = '';
  // The live status of a client reads keys from the same input afterwards.
  for await (const chunk of io.stdin.iterator({ destroyOnReturn: false })) {
    text += chunk.toString();
    if (text.includes('\n') || text.length > 100) break;
  }
  // Ctrl-D ends the input without ending the line.
  if (!text.includes('\n')) io.stderr.write('\n');
  return text.split('\n', 1)[0]?.trim() ?? '';
}
