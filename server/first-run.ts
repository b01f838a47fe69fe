// The first start on a laptop: a tunnel that is ready to carry, with its token in a file.

import { join } from 'node:path';
import { createId } from '@underpass/control/store/id.ts';
import type { Queries } from '@underpass/control/store/store.ts';
import { generateName } from '@underpass/control/tunnel/ingress-hosts.ts';
import { insertTunnelToken, readTunnelTokens } from '@underpass/control/tunnel/token.ts';
import { writeWhole } from './home.ts';
import type { Settings } from './settings.ts';
import type { State } from './state.ts';

export interface FirstTunnel {
  readonly id: string;
  readonly host: string;
  readonly tokenPath: string;
}

const firstTunnelName = 'first';

async function insertFirstTunnel(trx: Queries, state: State, settings: Settings): Promise<{ id: string; host: string }> {
  const { keyRing, clock } = state;
  const now = clock();
  const project = await trx.selectFrom('members').select('project_id').where('role', '=', 'owner').executeTakeFirstOrThrow();
  const projectId = project.project_id;
  const groups = trx.selectFrom('security_groups').select('id').where('project_id', '=', projectId);
  const group = await groups.where('name', '=', 'default').executeTakeFirstOrThrow();
  const id = createId(now);
  const times = { created_at: now, updated_at: now, suspended_at: null };
  const kind = { name: firstTunnelName, type: 'http', region: settings.region, proxy_protocol: '' } as const;
  await trx
    .insertInto('tunnels')
    .values({ id, project_id: projectId, security_group_id: group.id, ...kind, ...times })
    .execute();
  const host = await generateName(trx, settings.wildcardDomain, now);
  const row = { tunnel_id: id, project_id: projectId, host, apex_name: '', live_host: host, position: 0 };
  await trx.insertInto('tunnel_hosts').values(row).execute();
  await insertTunnelToken(trx, keyRing, id, now);
  return { id, host };
}

/** Called once, when the first operator has just been made. */
export async function makeFirstTunnel(state: State, settings: Settings): Promise<FirstTunnel> {
  const { store, keyRing } = state;
  const made = await store.write((trx) => insertFirstTunnel(trx, state, settings));
  const tokenPath = join(settings.home, 'first-tunnel.token');
  const token = (await readTunnelTokens(store.db, keyRing, [made.id])).get(made.id) ?? '';
  await writeWhole(tokenPath, `${token}\n`);
  return { ...made, tokenPath };
}
