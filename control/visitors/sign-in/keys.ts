// The public half of the key that signs the assertions for the upstream of a host, as a JSON Web Key Set (RFC 7517 5).

import type { Store } from '../../platform/store/store.ts';

/** How long services behind tunnels may cache the keys. */
const keptSeconds = 300;

export async function answerKeys({ db }: Pick<Store, 'db'>, policyId: string): Promise<Response> {
  const query = db.selectFrom('access_policies').select('assertion_jwk').where('id', '=', policyId);
  const row = await query.executeTakeFirst();
  const keys: unknown[] = row === undefined ? [] : [JSON.parse(row.assertion_jwk)];
  return new Response(JSON.stringify({ keys }), {
    headers: { 'content-type': 'application/jwk-set+json', 'cache-control': `public, max-age=${keptSeconds}` },
  });
}
