// Programs: those that registered themselves, and those whose id is the address of a document about them.

import { createToken, isToken } from '../../platform/secret/token.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { Program } from './core/authorization.ts';
import { isDocumentId } from './core/program-metadata.ts';
import type { ReadDocument } from './document.ts';

/** Known by its row: a program that nobody used for long is swept, and registers again. */
export async function insertProgram(
  db: Queries,
  { name, redirectUris }: Pick<Program, 'name' | 'redirectUris'>,
  nowMs: number,
): Promise<Program> {
  const id = createToken();
  const content = JSON.stringify({ name, redirectUris });
  await db.insertInto('access_clients').values({ id, content, created_at: nowMs, used_at: nowMs }).execute();
  return { id, name, redirectUris, isDocument: false };
}

export async function findRegistered(db: Queries, id: string): Promise<Program | undefined> {
  if (!isToken(id)) return undefined;
  const row = await db.selectFrom('access_clients').select('content').where('id', '=', id).executeTakeFirst();
  if (row === undefined) return undefined;
  return { id, ...(JSON.parse(row.content) as Pick<Program, 'name' | 'redirectUris'>), isDocument: false };
}

/** The program, or one sentence that says why there is none. */
export async function findProgram(db: Queries, readDocument: ReadDocument, id: string): Promise<Program | string> {
  if (!id.startsWith('https://'))
    return (await findRegistered(db, id)) ?? 'The program is not registered here. Remove the connection in it, and add it again.';
  if (!isDocumentId(id)) return 'The address by which the program names itself is not valid.';
  const found = await readDocument(id);
  return typeof found === 'string' ? `The program names itself ${id}, but ${found}.` : found;
}

export async function markUsed(db: Queries, id: string, nowMs: number): Promise<void> {
  await db.updateTable('access_clients').set({ used_at: nowMs }).where('id', '=', id).execute();
}
