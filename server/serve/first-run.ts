// The first start on a laptop: makes a tunnel that is ready for use and writes its token to a file.

import { join } from 'node:path';
import { createId } from '@underpass/control/platform/store/id.ts';
import type { Queries, Store } from '@underpass/control/platform/store/store.ts';
import { generateName } from '@underpass/control/tunnels/tunnel/ingress-hosts.ts';
import { insertTunnelToken, readTunnelTokens } from '@underpass/control/tunnels/tunnel/token.ts';
import { dayMs, retentionDays } from '@underpass/rules/limits.ts';
import type { Settings } from '../settings/settings.ts';
import { writeWhole } from '../state/home.ts';
import type { State } from '../state/state.ts';

export interface FirstTunnel {
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
  const row = { tunnel_id: id, project_id: projectId, host, apex_name: '', live_host: host, position: 0, blocked: null };
  await trx.insertInto('tunnel_hosts').values(row).execute();
  await insertTunnelToken(trx, keyRing, id, now);
  return { id, host };
}

async function findFirstTunnel({ db }: Store, { region }: Settings): Promise<{ id: string; host: string } | undefined> {
  const tunnels = db.selectFrom('tunnels as t').innerJoin('tunnel_hosts as h', 'h.tunnel_id', 't.id');
  const named = tunnels.select(['t.id', 'h.host']).where('t.name', '=', firstTunnelName).where('t.region', '=', region);
  return named.executeTakeFirst();
}

/** Makes the tunnel when `isNew`, on the first start; later starts find the one that exists. */
export async function openFirstTunnel(state: State, settings: Settings, isNew: boolean): Promise<FirstTunnel | undefined> {
  const { store, keyRing } = state;
  const tunnel = isNew
    ? await store.write((trx) => insertFirstTunnel(trx, state, settings))
    : await findFirstTunnel(store, settings);
  if (tunnel === undefined) return undefined;
  const tokenPath = join(settings.home, 'first-tunnel.token');
  const token = (await readTunnelTokens(store.db, keyRing, [tunnel.id])).get(tunnel.id) ?? '';
  await writeWhole(tokenPath, `${token}\n`);
  return { host: tunnel.host, tokenPath };
}

/**
 * True if the operator named in the settings exists and nobody has ever signed in. An operator older than the audit log
 * counts as signed in: the log may have dropped the entry, and a needless sign-in link in the output is a risk.
 */
export async function isUnused(
  { store: { db }, clock }: Pick<State, 'store' | 'clock'>,
  { operatorEmail }: Pick<Settings, 'operatorEmail'>,
): Promise<boolean> {
  const signedIn = await db.selectFrom('audit').select('id').where('action', '=', 'session.create').limit(1).executeTakeFirst();
  if (signedIn !== undefined) return false;
  const operator = db.selectFrom('users').select('id').where('email', '=', operatorEmail).where('operator', '=', 1);
  const isYoung = operator.where('created_at', '>', clock() - retentionDays.auditLog * dayMs);
  return (await isYoung.executeTakeFirst()) !== undefined;
}
