// OAuth clients: those that registered themselves, and those whose id is the address of a document about them.

import { createToken, isToken } from '../../platform/secret/token.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { OAuthClient } from './core/authorization.ts';
import { isDocumentId } from './core/client-metadata.ts';

/** Known by its row: a client that nobody used for long is swept, and registers again. */
export async function insertClient(
  db: Queries,
  { name, redirectUris }: Pick<OAuthClient, 'name' | 'redirectUris'>,
  nowMs: number,
): Promise<OAuthClient> {
  const id = createToken();
  const content = JSON.stringify({ name, redirectUris });
  await db.insertInto('access_clients').values({ id, content, created_at: nowMs, used_at: nowMs }).execute();
  return { id, name, redirectUris, isDocument: false };
}

export async function findRegistered(db: Queries, id: string): Promise<OAuthClient | undefined> {
  if (!isToken(id)) return undefined;
  const row = await db.selectFrom('access_clients').select('content').where('id', '=', id).executeTakeFirst();
  if (row === undefined) return undefined;
  return { id, ...(JSON.parse(row.content) as Pick<OAuthClient, 'name' | 'redirectUris'>), isDocument: false };
}

/** The client, or one sentence that says why there is none. */
export async function findClient(
  db: Queries,
  readDocument: (id: string) => Promise<OAuthClient | string>,
  id: string,
): Promise<OAuthClient | string> {
  if (!id.startsWith('https://'))
    return (await findRegistered(db, id)) ?? 'The program is not registered here. Remove the connection in it, and add it again.';
  if (!isDocumentId(id)) return 'The address by which the program names itself is not valid.';
  const found = await readDocument(id);
  return typeof found === 'string' ? `The program names itself ${id}, but ${found}.` : found;
}

export async function markUsed(db: Queries, id: string, nowMs: number): Promise<void> {
  await db.updateTable('access_clients').set({ used_at: nowMs }).where('id', '=', id).execute();
}
