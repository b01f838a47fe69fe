// Asks questions in the terminal, one line each.
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';

/** Returns the answer without the spaces around it. Throws `not-confirmed` if the input ends, as by Ctrl-D. */
export type Ask = (question: string) => Promise<string>;

/** The terminal hands over lines of at most 4096 bytes. */
const maxTypedChars = 4_096;

/** Asks several questions: a line that is typed ahead answers the next one. */
export function createAsk(io: Io): Ask {
  let typed = '';
  const readLine = async (): Promise<string | undefined> => {
    if (!typed.includes('\n')) {
      // The live status of a client reads keys from the same input afterwards.
      for await (const chunk of io.stdin.iterator({ destroyOnReturn: false })) {
        typed += chunk.toString();
        if (typed.includes('\n') || typed.length > maxTypedChars) break;
      }
    }
    const end = typed.indexOf('\n');
    if (end === -1) return undefined;
    const line = typed.slice(0, end).trim();
    typed = typed.slice(end + 1);
    return line;
  };
  return async (question) => {
    io.stderr.write(question);
    const line = await readLine();
    if (line !== undefined) return line;
    // Ctrl-D ends the input without ending the line.
    io.stderr.write('\n');
    throw new ClientError('not-confirmed', '');
  };
}

/** Enter alone answers `byDefault`. */
export async function askYes(ask: Ask, question: string, byDefault: boolean): Promise<boolean> {
  const answer = await ask(`${question} ${byDefault ? '[Y/n]' : '[y/N]'} `);
  return answer === '' ? byDefault : /^y(es)?$/i.test(answer);
}

/** Asks before something that cannot be undone; throws without a terminal. With --yes it returns at once. */
export async function confirm(io: Io, warning: string, question: string, yes: boolean | undefined): Promise<void> {
  if (yes) return;
  if (!io.stdin.isTTY) throw new ClientError('confirmation-needed', question);
  io.stderr.write(`${warning}\n`);
  if (!(await askYes(createAsk(io), question, false))) throw new ClientError('not-confirmed', '');
}
