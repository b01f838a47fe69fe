// The writer of the fault table: changes through the API, of which it remembers every acknowledged one, and mails that it asks
// for. Afterwards it says what was lost, and what was done twice.
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { readTunnelPage } from '@underpass/control/edges/feed/region-content.ts';
import { addJob } from '@underpass/control/platform/job/queue.ts';
import { createKeyRing } from '@underpass/control/platform/secret/key-ring.ts';
import { createId } from '@underpass/control/platform/store/id.ts';
import { openPostgresStore } from '@underpass/control/platform/store/postgres.ts';
import type { Store } from '@underpass/control/platform/store/store.ts';
import type { Account } from '@underpass/tests/helpers/product.ts';
import { type EdgePart, type FaultStage, heldRoutes, masterKey, verifyDomain } from './faults-stage.ts';
import { sleep } from './scale-region.ts';

/** Three calls a second: under the limit of changes for one session. */
const pauseMs = 330;
const mailPauseMs = 1_000;
/** Objects live for this many others, so that a project stays under its quotas. */
const liveObjects = 12;
const callTimeoutMs = 15_000;

/** The part of an object that was acknowledged last; null once its deletion was. */
type Content = Readonly<Record<string, unknown>> | null;

interface Step {
  readonly method: string;
  /** The path of the call. */
  readonly path: string;
  readonly body?: Content;
  /** Path of the object. */
  readonly object: string;
  readonly becomes: Content;
}

export interface Changes {
  /** Acknowledged objects by path. */
  readonly acknowledged: ReadonlyMap<string, Content>;
  /** Hosts of tunnels that were created, each of which needs a certificate of its own. */
  readonly hosts: readonly string[];
  /** Recipients of the mails that were asked for. */
  readonly mailed: readonly string[];
  readonly counts: { acknowledged: number; refused: number };
  /** Asks for no more mails: what is asked for after a backup is lost with a restore. */
  endMails(): void;
  /** Forgets what has changed since `moment`: a restore may undo it. */
  forgetSince(moment: ReadonlyMap<string, Content>): void;
  stop(): Promise<void>;
}

const apexOf = (row: string): string => `${row}-faults.com`;

function* stepsOf(row: string, hosts: string[], names: FaultStage['names']): Generator<Step> {
  const deletions: Step[] = [];
  const make = (kind: string, name: string, at: string, content: Content, body: Content): Step => {
    const object = `${kind}/${at}`;
    deletions.push({ method: 'DELETE', path: object, object, becomes: null });
    return { method: 'POST', path: kind, body: { name, ...body }, object, becomes: content };
  };
  const patch = (object: string, content: Content, body = content): Step => ({
    ...{ method: 'PATCH', path: object, body, object, becomes: content },
  });
  for (let index = 0; ; index++) {
    const name = `${row}-${index}`;
    const allow = (last: number): string[] => [`192.0.2.${(index % 100) + last}/32`];
    yield make('security-groups', name, name, { allowList: allow(0) }, { allow: allow(0) });
    yield patch(`security-groups/${name}`, { allowList: allow(100) }, { allow: allow(100) });
    yield make('access-policies', name, name, {}, { people: ['ada@example.com'] });
    const host = `c${index}.${apexOf(row)}`;
    names.set('A', host, '127.0.0.1');
    const tunnel = { region: 'eu', type: 'http', ingressDomains: [host], proxyProtocol: '' };
    yield make('tunnels', name, name, {}, tunnel);
    hosts.push(host);
    yield patch(`tunnels/${name}`, { proxyProtocol: 'v2', securityGroup: name });
    const apexName = `d${index}-${apexOf(row)}`;
    yield make('domains', apexName, apexName, {}, {});
    // Four objects for each index; a tunnel goes before its group.
    if (index >= liveObjects / 4) for (const each of deletions.splice(0, 4).reverse()) yield each;
  }
}

/** Each row has a domain of its own: an authority issues only so many certificates for one. */
export async function startChanges(
  stage: FaultStage,
  row: string,
  account: Account,
  onFailure: (text: string) => void,
): Promise<Changes> {
  await verifyDomain(stage.names, account, apexOf(row));
  const { call, project } = account;
  const acknowledged = new Map<string, Content>();
  const unsure = new Set<string>();
  const hosts: string[] = [];
  const mailed: string[] = [];
  const counts = { acknowledged: 0, refused: 0 };
  let stopped = false;
  let mailing = true;

  const take = async ({ method, path, body, object, becomes }: Step): Promise<void> => {
    // A call that depends on an unsure one may be refused for a good reason.
    if (unsure.has(object)) return;
    const late = sleep(callTimeoutMs).then(() => ({ status: 0, body: 'no answer' }));
    const answer = await Promise.race([call(method, `/api/${path}?project=${project}`, body ?? undefined), late]).catch(
      (error: Error) => ({ status: 0, body: String(error.cause ?? error) }),
    );
    if (answer.status >= 200 && answer.status < 300) {
      acknowledged.set(object, becomes);
      counts.acknowledged += 1;
      return;
    }
    unsure.add(object);
    acknowledged.delete(object);
    counts.refused += 1;
    onFailure(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 160)}`);
  };
  const write = async (): Promise<void> => {
    for (const step of stepsOf(row, hosts, stage.names)) {
      if (stopped) return;
      await take(step);
      await sleep(pauseMs);
    }
  };
  const askForMails = async (): Promise<void> => {
    const store = await openStore(stage);
    for (let index = 0; !stopped && mailing; index++) {
      const email = `mail-${index}@${row}.example`;
      await askForMail(store, email).then(
        () => mailed.push(email),
        (error: Error) => onFailure(`mail: ${error.message}`),
      );
      await sleep(mailPauseMs);
    }
    await store.close();
  };
  const work = Promise.all([write(), askForMails()]);
  return {
    ...{ acknowledged, hosts, mailed, counts },
    endMails: () => {
      mailing = false;
    },
    forgetSince: (moment) => {
      for (const [object, content] of acknowledged) if (moment.get(object) !== content) acknowledged.delete(object);
    },
    stop: async () => {
      stopped = true;
      await work;
    },
  };
}

const openStore = async ({ databaseUrlFile }: FaultStage): Promise<Store> =>
  openPostgresStore(await readFile(databaseUrlFile, 'utf8'), () => {});

/** What a request for a sign-in link stores, without the puzzle that costs its sender CPU time. */
export async function askForMail(store: Store, email: string): Promise<void> {
  const now = Date.now();
  await store.write(async (trx) => {
    const person = { first_name: 'Ada', last_name: '', operator: 0, default_project: null, suspended_at: null } as const;
    await trx
      .insertInto('users')
      .values({ id: createId(now), email, ...person, created_at: now })
      .execute();
    await addJob(trx, now, 'login-link', { email, browserHash: null, isMailed: true });
  });
}

/** The acknowledged objects that the API does not show as they were acknowledged. */
export async function lostChanges({ acknowledged }: Changes, { call, project }: Account): Promise<readonly string[]> {
  const lost: string[] = [];
  for (const [object, content] of acknowledged) {
    const { status, body } = await call<Record<string, unknown>>('GET', `/api/${object}?project=${project}`);
    const isThere = status === 200 && Object.entries(content ?? {}).every(([key, value]) => isAlike(body[key], value));
    if (content === null ? status !== 404 : !isThere) lost.push(`${object}: ${status} ${JSON.stringify(body).slice(0, 200)}`);
  }
  return lost;
}

/** The API may show a rule with or without the prefix of a single address. */
const isAlike = (shown: unknown, sent: unknown): boolean => textOf(shown) === textOf(sent);
const textOf = (value: unknown): string => JSON.stringify(value ?? null).replaceAll('/32', '');

/** The edges whose routes differ from what the database says. */
export async function differingEdges(stage: FaultStage): Promise<readonly string[]> {
  const store = await openStore(stage);
  try {
    const origin = `http://localhost:${stage.region.controlPort}`;
    const source = { keyRing: createKeyRing([masterKey]), origin };
    const stored = await readTunnelPage(store.db, source, '', Date.now());
    const isEqual = async (edge: EdgePart): Promise<boolean> => {
      const wanted = stored.filter(({ region }) => region === edge.region).map(({ tunnel }) => tunnel);
      return isDeepStrictEqual(sorted(await heldRoutes(edge)), sorted(JSON.parse(JSON.stringify(wanted))));
    };
    const equal = await Promise.all(stage.edges.map(isEqual));
    return stage.edges.filter((_, at) => !equal[at]).map(({ name }) => name);
  } finally {
    await store.close();
  }
}

const sorted = (tunnels: readonly { readonly id: string }[]) => tunnels.toSorted((a, b) => (a.id < b.id ? -1 : 1));

/** How often the authority was asked for each name, and gave a certificate or may have. */
export async function ordersByName(stage: FaultStage): Promise<ReadonlyMap<string, number>> {
  const store = await openStore(stage);
  try {
    const rows = await store.db.selectFrom('certificate_attempts').select('name').where('outcome', '!=', 'failed').execute();
    const counts = new Map<string, number>();
    for (const { name } of rows) counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  } finally {
    await store.close();
  }
}
