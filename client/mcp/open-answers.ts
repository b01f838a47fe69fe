// The answers that are open or not yet read: bounded in number for each visitor, and in bytes for each visitor and for all. A client
// that reads nothing then gets 503 instead of the program's memory.

import type { ServerResponse } from 'node:http';
import type { McpLimits } from './limits.ts';

interface OpenAnswers {
  /** False: the visitor has too many, or too much is unread. */
  readonly take: (visitor: string, response: ServerResponse) => boolean;
}

export function createOpenAnswers({ answers }: Pick<McpLimits, 'answers'>): OpenAnswers {
  const open = new Map<string, Set<ServerResponse>>();
  const unread = (visitors: Iterable<Set<ServerResponse>>): number =>
    [...visitors].flatMap((own) => [...own]).reduce((sum, { writableLength }) => sum + writableLength, 0);

  return {
    take(visitor, response) {
      const own = open.get(visitor) ?? new Set();
      if (own.size >= answers.perVisitor || unread([own]) > answers.unreadBytes) return false;
      if (unread(open.values()) > answers.allUnreadBytes) return false;
      open.set(visitor, own.add(response));
      response.once('close', () => {
        own.delete(response);
        if (own.size === 0) open.delete(visitor);
      });
      return true;
    },
  };
}
