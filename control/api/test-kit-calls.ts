// Requests for tests: one for every call of the table that succeeds for permitted callers, after creating what it needs.

import { randomBytes } from 'node:crypto';
import type { Call } from '@underpass/rules/api/call.ts';
import { type CallName, calls } from '@underpass/rules/api/calls.ts';
import { queryShapeOf } from '@underpass/rules/api/schemas.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { PasskeyOptions, RecoveryCodes } from '@underpass/rules/entity/resource.ts';
import { createRoot, issueLeaf } from '../edges/certificate/x509.ts';
import { addPasskey, createAuthenticator } from '../people/passkey/test-kit.ts';
import { addJob } from '../platform/job/queue.ts';
import { hashToken } from '../platform/secret/token.ts';
import { linkToken, loginForm, rightAnswer, type SignedUp, type TestClient, type TestControl } from '../test-kit.ts';

export interface World {
  readonly test: TestControl;
  readonly owner: SignedUp;
  readonly operator: SignedUp;
}

export interface PreparedCall {
  readonly segments?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object | URLSearchParams | FormData | string;
  readonly headers?: Readonly<Record<string, string>>;
}

const unique = (prefix: string): string => `${prefix}-${randomBytes(5).toString('hex')}`;
const uniqueApex = (): string => `${unique('d')}.com`;

const withProject = ({ owner }: World) => `?project=${owner.projectId}`;

async function makeTunnel(world: World): Promise<string> {
  const name = unique('tunnel');
  await world.owner.call('POST', `/api/tunnels${withProject(world)}`, { name, region: 'local', ingressDomains: [] });
  return name;
}

async function makeDomain(world: World): Promise<string> {
  const name = uniqueApex();
  await world.owner.call('POST', `/api/domains${withProject(world)}`, { name });
  return name;
}

/** An ingress domain with a certificate of its project. */
async function makeCertificate(world: World): Promise<PreparedCall> {
  const [name, host] = [unique('tunnel'), `app.${uniqueApex()}`];
  await world.owner.call('POST', `/api/tunnels${withProject(world)}`, { name, region: 'local', ingressDomains: [host] });
  const day = 86_400_000;
  const nowMs = world.test.time.now;
  const life = { notBefore: new Date(nowMs - day), notAfter: new Date(nowMs + 90 * day) };
  const leaf = await issueLeaf(await createRoot('Test', life), [host], life);
  const body = { chain: leaf.certificatePem, privateKey: leaf.privateKeyPem };
  await world.owner.call('POST', `/api/tunnels/${name}/domains/${host}/certificate${withProject(world)}`, body);
  return { segments: { name, host }, body };
}

const certificateSegments = async (world: World): Promise<PreparedCall> => ({
  segments: (await makeCertificate(world)).segments!,
});

async function makeGroup(world: World): Promise<string> {
  const name = unique('group');
  await world.owner.call('POST', `/api/security-groups${withProject(world)}`, { name, allow: ['192.0.2.0/24'] });
  return name;
}

async function makePolicy(world: World): Promise<string> {
  const name = unique('policy');
  const body = { name, members: true, rules: [{ path: '/docs/*', action: 'public' }] };
  await world.owner.call('POST', `/api/access-policies${withProject(world)}`, body);
  return name;
}

/** A policy that a tunnel has, and the tunnel's host. */
async function attachPolicy(world: World): Promise<{ readonly name: string; readonly host: string }> {
  const accessPolicy = await makePolicy(world);
  const body = { name: unique('tunnel'), region: 'local', ingressDomains: [], accessPolicy };
  const { ingressDomains } = await world.owner.call<Tunnel>('POST', `/api/tunnels${withProject(world)}`, body);
  return { name: accessPolicy, host: ingressDomains[0]!.name };
}

const addTo =
  (part: 'tokens' | 'links'): Prepare =>
  async (world) => {
    const { name } = await attachPolicy(world);
    const path = `/api/access-policies/${name}/${part}${withProject(world)}`;
    const { id } = await world.owner.call<{ id: string }>('POST', path, { name: 'ci' });
    return { segments: { name, id } };
  };

async function makePrivateTunnel(world: World): Promise<string> {
  const name = unique('tunnel');
  const body = { name, region: 'local', type: 'tcp', private: true };
  await world.owner.call('POST', `/api/tunnels${withProject(world)}`, body);
  return name;
}

async function makeTicket(world: World): Promise<PreparedCall> {
  const name = await makePrivateTunnel(world);
  const path = `/api/tunnels/${name}/tickets${withProject(world)}`;
  const { id } = await world.owner.call<{ id: string }>('POST', path, { name: 'ci' });
  return { segments: { name, id } };
}

async function makeMember({ test, owner }: World): Promise<string> {
  const member = await test.signUp(`${unique('member')}@example.com`);
  await test.addMember(owner.projectId, member.userId, 'viewer');
  return member.userId;
}

async function makeInvitation(world: World, email = `${unique('guest')}@example.com`): Promise<string> {
  const body = { email, role: 'viewer' };
  const { id } = await world.owner.call<{ id: string }>('POST', `/api/invitations${withProject(world)}`, body);
  return id;
}

async function makeToken(world: World): Promise<string> {
  const body = { name: 'ci', role: 'viewer' };
  const { id } = await world.owner.call<{ id: string }>('POST', `/api/tokens${withProject(world)}`, body);
  return id;
}

async function makeLink({ test, owner }: World, browser: TestClient): Promise<string> {
  await browser.call('POST', '/auth/magiclink', loginForm(owner.email));
  await test.control.settle();
  return linkToken(test.mails, owner.email);
}

/** A caller who cannot have asked gets a token that nobody has. */
async function makeProof({ test }: World, caller: TestClient & { email?: string }): Promise<string> {
  const asked = await caller.send('POST', '/api/proof');
  await test.control.settle();
  return asked.ok ? linkToken(test.mails, caller.email!) : 'none';
}

const startDevice = ({ test }: World) =>
  test.client().call<{ deviceCode: string; userCode: string }>('POST', '/auth/device', { name: 'laptop' });

async function approvedDevice(world: World): Promise<string> {
  const { deviceCode, userCode } = await startDevice(world);
  await world.owner.call('POST', `/api/device/${userCode}/approve${withProject(world)}`, { role: 'viewer' });
  return deviceCode;
}

async function makeRegistration({ test }: World): Promise<string> {
  const email = `${unique('new')}@example.com`;
  // The mails of earlier calls would come first, 20 of them every two seconds.
  await test.store.db.deleteFrom('jobs').execute();
  const registration = { email, firstName: 'New', lastName: 'Person', company: '', github: '', x: '' };
  await addJob(test.store.db, test.time.now, 'registration', registration);
  await test.control.settle();
  const row = await test.store.db.selectFrom('registrations').select('id').where('email', '=', email).executeTakeFirstOrThrow();
  return row.id;
}

function registrationForm(): FormData {
  const form = new FormData();
  const fields = { 'first-name': 'Ann', 'last-name': 'Lee', email: `${unique('r')}@example.com`, 'accept-terms': 'on' };
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('bot-check', rightAnswer);
  return form;
}

async function makeRegion({ operator }: World): Promise<string> {
  const name = unique('r');
  const body = { name, description: 'There', dataPlaneHost: `${name}.example.net`, tlsTermination: true };
  await operator.call('POST', '/api/operator/regions', body);
  return name;
}

async function makeReport({ test, operator }: World): Promise<string> {
  const body = { host: `${unique('bad')}.example.com`, email: 'a@example.com', text: 'Phishing', 'bot-check': rightAnswer };
  await test.client(undefined, `2001:db8:${randomBytes(2).toString('hex')}::1`).call('POST', '/api/abuse-reports', body);
  const [report] = await operator.call<{ id: string }[]>('GET', '/api/operator/abuse-reports?state=open');
  return report!.id;
}

/** An invitation for the caller, with a token that the test knows. */
async function invitationToken(world: World, email: string): Promise<string> {
  const id = await makeInvitation(world, email);
  // Its mail would bring another token.
  await world.test.store.db.deleteFrom('jobs').execute();
  const token = randomBytes(32).toString('base64url');
  await world.test.store.db
    .updateTable('invitations')
    .set({ token_hash: hashToken(token) })
    .where('id', '=', id)
    .execute();
  return token;
}

async function rowId({ test }: World, table: 'tunnels' | 'projects', name: string): Promise<string> {
  const query = test.store.db.selectFrom(table).select('id').where('name', '=', name);
  return (await query.executeTakeFirstOrThrow()).id;
}

/** Options of a caller who may not even ask for a challenge. */
const noOptions = { challenge: '', user: { id: '' } };

async function optionsFor(caller: TestClient, path: string): Promise<PasskeyOptions> {
  const response = await caller.send('POST', path);
  return response.ok ? ((await response.json()) as PasskeyOptions) : noOptions;
}

const answered =
  (path: string): Prepare =>
  async ({ owner }, caller) => {
    const { key } = await addPasskey(owner);
    return { body: { credential: key.get(await optionsFor(caller, path)) } };
  };

const passkeySegment: Prepare = async ({ owner }) => ({ segments: { id: (await addPasskey(owner)).id } });

const withPasskey: Prepare = async ({ owner }) => {
  await addPasskey(owner);
  return {};
};

const recoveryCode: Prepare = async ({ owner }) => {
  await addPasskey(owner);
  const { codes } = await owner.call<RecoveryCodes>('POST', '/api/recovery-codes');
  return { body: { recoveryCode: codes[0]! } };
};

type Prepare = (world: World, caller: TestClient & { email?: string }) => Promise<PreparedCall>;
/** A port that nothing listens on. */
const webhook = { url: 'http://127.0.0.1:9/alerts', format: 'standard' };
const inOwn = ({ owner }: World): string => `?project=${owner.projectId}`;
async function makeWebhook(world: World): Promise<string> {
  await world.owner.call('POST', `/api/alerts/webhook${inOwn(world)}`, webhook);
  return '';
}
async function makeDelivery(world: World): Promise<string> {
  await makeWebhook(world);
  return (await world.owner.call<{ id: string }>('POST', `/api/alerts/webhook/test${inOwn(world)}`)).id;
}

const nothing: Prepare = async () => ({});
const onceThereIs =
  (make: (world: World) => Promise<string>): Prepare =>
  async (world) => {
    await make(world);
    return {};
  };
const tunnelSegment: Prepare = async (world) => ({ segments: { name: await makeTunnel(world) } });
const policySegment: Prepare = async (world) => ({ segments: { name: await makePolicy(world) } });
const report = { host: 'bad.example.com', email: 'a@example.com', text: 'Phishing', 'bot-check': rightAnswer };

/** Calls that an invited person makes. The project's owner cannot make them: they are a member already. */
export const callsOfInvited: ReadonlySet<CallName> = new Set(['checkInvitation', 'acceptInvitation']);

export const prepareCall: { readonly [Name in CallName]: Prepare } = {
  getUser: nothing,
  listProjects: nothing,
  getUsage: nothing,
  exportUsage: nothing,
  getMetrics: nothing,
  redeemLoginLink: async (world, caller) => ({ body: new URLSearchParams({ token: await makeLink(world, caller) }) }),
  logOut: async () => ({ headers: { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' } }),
  requestLoginLink: async (world) => ({ body: loginForm(world.owner.email) }),
  register: async () => ({ body: registrationForm() }),
  listDomains: nothing,
  getDomain: async (world) => ({ segments: { apexName: await makeDomain(world) } }),
  createDomain: async () => ({ body: { name: uniqueApex() } }),
  deleteDomain: async (world) => ({ segments: { apexName: await makeDomain(world) } }),
  verifyDomain: async (world) => ({ segments: { apexName: await makeDomain(world) } }),
  listTunnels: onceThereIs(makeTunnel),
  getTunnel: async (world) => ({ segments: { name: await makeTunnel(world) }, query: { metrics: '1' } }),
  createTunnel: async () => ({
    body: { name: unique('t'), region: 'local', ingressDomains: [], proxyProtocol: '', type: 'http', private: false },
  }),
  updateTunnel: async (world) => ({
    segments: { name: await makeTunnel(world) },
    body: { ingressDomains: [], proxyProtocol: 'v2', securityGroup: 'default' },
  }),
  deleteTunnel: tunnelSegment,
  keepTunnel: tunnelSegment,
  startQuickTunnel: async () => ({ body: { key: randomBytes(32).toString('base64url') } }),
  getDomainDns: async (world) => ({ segments: { apexName: await makeDomain(world) } }),
  lookUpDns: async () => ({ query: { host: 'local.localhost' } }),
  listRegions: nothing,
  reachTunnel: async (world) => ({ segments: { name: await makePrivateTunnel(world) } }),
  listReachTickets: async (world) => ({ segments: { name: (await makeTicket(world)).segments!.name! } }),
  createReachTicket: async (world) => ({
    segments: { name: await makePrivateTunnel(world) },
    body: { name: 'ci', expiresInDays: 1 },
  }),
  deleteReachTicket: makeTicket,
  listSecurityGroups: nothing,
  getSecurityGroup: async (world) => ({ segments: { name: await makeGroup(world) } }),
  createSecurityGroup: async () => ({ body: { name: unique('g'), allow: ['2001:db8::/32'] } }),
  updateSecurityGroup: async (world) => ({ segments: { name: await makeGroup(world) }, body: { allow: ['192.0.2.1'] } }),
  deleteSecurityGroup: async (world) => ({ segments: { name: await makeGroup(world) } }),
  listAccessPolicies: nothing,
  getAccessPolicy: policySegment,
  createAccessPolicy: async () => ({
    body: { name: unique('p'), people: ['*@example.com'], rules: [], tokenHeader: 'x-api-key' },
  }),
  updateAccessPolicy: async (world) => ({
    segments: { name: await makePolicy(world) },
    body: { people: ['a@example.com'], tokenHeader: 'x-key', members: false },
  }),
  deleteAccessPolicy: policySegment,
  testAccessPolicy: async (world) => {
    const { name, host } = await attachPolicy(world);
    return { segments: { name }, body: { url: `https://${host}/`, email: 'a@example.com', address: '192.0.2.1' } };
  },
  signOutVisitors: async (world) => ({ segments: { name: await makePolicy(world) }, body: { email: 'a@example.com' } }),
  listAccessTokens: policySegment,
  createAccessToken: async (world) => ({ segments: { name: await makePolicy(world) }, body: { name: 'ci', expiresInDays: 1 } }),
  deleteAccessToken: addTo('tokens'),
  listAccessLinks: policySegment,
  createAccessLink: async (world) => ({
    segments: { name: (await attachPolicy(world)).name },
    body: { name: 'client', expiresInHours: 1, mostUses: 3 },
  }),
  deleteAccessLink: addTo('links'),
  listAccessPrograms: policySegment,
  deleteAccessProgram: async (world) => {
    const name = await makePolicy(world);
    const { db } = world.test.store;
    const policy = await db.selectFrom('access_policies').select('id').where('name', '=', name).executeTakeFirstOrThrow();
    const row = { policy_id: policy.id, kind: 'refresh' as const, content_sealed: '', tries: 0, created_at: 1, expires_at: 9e15 };
    const id = unique('program');
    await db
      .insertInto('access_flows')
      .values({ id, ...row })
      .execute();
    return { segments: { name, id } };
  },
  listAccessSignIns: nothing,
  checkLoginLink: async (world, caller) => ({ body: new URLSearchParams({ token: await makeLink(world, caller) }) }),
  logOutByPost: nothing,
  getMeta: nothing,
  getBotCheck: nothing,
  getBotChallenge: nothing,
  createProject: async () => ({ body: { name: 'Another' } }),
  renameProject: async ({ owner }) => ({ segments: { id: owner.projectId }, body: { name: 'Renamed' } }),
  requirePasskeys: async ({ owner }) => ({ segments: { id: owner.projectId }, body: { required: false } }),
  deleteProject: async ({ owner }) => ({ segments: { id: owner.projectId }, body: { name: 'default' } }),
  listMembers: nothing,
  changeMember: async (world) => ({ segments: { id: await makeMember(world) }, body: { role: 'viewer' } }),
  removeMember: async (world) => ({ segments: { id: await makeMember(world) } }),
  listInvitations: onceThereIs(makeInvitation),
  createInvitation: async () => ({ body: { email: `${unique('i')}@example.com`, role: 'member' } }),
  deleteInvitation: async (world) => ({ segments: { id: await makeInvitation(world) } }),
  checkInvitation: async (world, caller) => ({ body: { token: await invitationToken(world, caller.email ?? 'x@example.com') } }),
  acceptInvitation: async (world, caller) => ({ body: { token: await invitationToken(world, caller.email ?? 'x@example.com') } }),
  deleteAccount: async ({ owner }) => ({ body: { email: owner.email } }),
  exportAccount: nothing,
  getOwnAddress: nothing,
  listSessions: nothing,
  deleteSession: async (_, caller) => {
    const sessions = await caller.send('GET', '/api/sessions');
    const list = sessions.ok ? ((await sessions.json()) as { id: string }[]) : [];
    return { segments: { id: list[0]?.id ?? 'none' } };
  },
  endOtherSignIns: nothing,
  listOwnTokens: nothing,
  deleteOwnToken: async (world, caller) => ({ segments: { id: caller === world.owner ? await makeToken(world) : 'none' } }),
  listPasskeys: nothing,
  startPasskey: nothing,
  addPasskey: async (_, caller) => {
    const credential = createAuthenticator().create(await optionsFor(caller, '/api/passkeys/options'));
    return { body: { name: 'Laptop', credential } };
  },
  renamePasskey: async (world, caller) => ({ ...(await passkeySegment(world, caller)), body: { name: 'Phone' } }),
  removePasskey: passkeySegment,
  startPasskeyProof: withPasskey,
  proveByPasskey: answered('/api/proof/options'),
  createRecoveryCodes: withPasskey,
  proveByRecoveryCode: recoveryCode,
  startPasskeySignIn: nothing,
  signInByPasskey: answered('/auth/passkey/options'),
  listApiTokens: onceThereIs(makeToken),
  createApiToken: async () => ({ body: { name: 'ci', role: 'viewer', expiresInDays: 30 } }),
  deleteApiToken: async (world) => ({ segments: { id: await makeToken(world) } }),
  listAudit: nothing,
  exportAudit: nothing,
  rotateToken: tunnelSegment,
  listClients: tunnelSegment,
  getLastClient: tunnelSegment,
  listVisitorLog: tunnelSegment,
  checkTunnelDomains: tunnelSegment,
  getOwnCertificate: certificateSegments,
  setOwnCertificate: makeCertificate,
  changeOwnCertificate: async (world) => ({ ...(await certificateSegments(world)), body: { fallback: false } }),
  deleteOwnCertificate: certificateSegments,
  getOverview: nothing,
  getAlerts: nothing,
  getAlertWebhook: onceThereIs(makeWebhook),
  saveAlertWebhook: async (world) => {
    await makeWebhook(world);
    return { body: webhook };
  },
  rotateAlertWebhook: onceThereIs(makeWebhook),
  deleteAlertWebhook: onceThereIs(makeWebhook),
  testAlertWebhook: onceThereIs(makeWebhook),
  resendAlertDelivery: async (world) => ({ segments: { id: await makeDelivery(world) } }),
  changeAlertMail: async () => ({ body: { mail: false } }),
  changeAlertSettings: async () => ({ body: { waitSeconds: 300 } }),
  getServiceOverview: nothing,
  getHistory: async (world) => ({ segments: { name: await makeTunnel(world) }, query: { range: 'hour' } }),
  streamEvents: nothing,
  startDevice: async () => ({ body: { name: 'laptop' } }),
  pollDevice: async (world) => ({ body: { deviceCode: await approvedDevice(world) } }),
  getDevice: async (world) => ({ segments: { userCode: (await startDevice(world)).userCode } }),
  approveDevice: async (world) => ({ segments: { userCode: (await startDevice(world)).userCode }, body: { role: 'viewer' } }),
  denyDevice: async (world) => ({ segments: { userCode: (await startDevice(world)).userCode } }),
  requestProof: nothing,
  redeemProof: async (world, caller) => ({ body: { token: await makeProof(world, caller) } }),
  listReleases: nothing,
  reportAbuse: async () => ({ body: report }),
  listRegistrations: nothing,
  approveRegistration: async (world) => ({ segments: { id: await makeRegistration(world) } }),
  rejectRegistration: async (world) => ({ segments: { id: await makeRegistration(world) } }),
  listSubscriptions: nothing,
  createSubscription: async () => ({ body: { email: `${unique('s')}@example.com`, expiresAt: '2030-01-01' } }),
  deleteSubscription: async ({ operator }) => {
    const body = { email: `${unique('s')}@example.com` };
    const { id } = await operator.call<{ id: string }>('POST', '/api/operator/subscriptions', body);
    return { segments: { id } };
  },
  importSubscriptions: async () => ({ body: `email\n${unique('s')}@example.com\n` }),
  listUsers: nothing,
  changeUser: async (world) => ({ segments: { id: await makeMember(world) }, body: { suspended: true } }),
  exportUser: async (world) => ({ segments: { id: await makeMember(world) } }),
  getUserReach: async (world) => ({ segments: { id: await makeMember(world) } }),
  removeUserPasskeys: async ({ test }) => {
    const person = await test.signUp(`${unique('p')}@example.com`);
    await addPasskey(person);
    return { segments: { id: person.userId } };
  },
  getPasskeyRule: nothing,
  changePasskeyRule: async () => ({ body: { required: false } }),
  listAllProjects: nothing,
  changeProject: async ({ test }) => {
    const { projectId } = await test.signUp(`${unique('p')}@example.com`);
    return { segments: { id: projectId }, body: { suspended: true, limits: { tunnels: 5 } } };
  },
  listAllTunnels: nothing,
  changeTunnel: async (world) => ({
    segments: { id: await rowId(world, 'tunnels', await makeTunnel(world)) },
    body: { suspended: true },
  }),
  listOperatorRegions: nothing,
  createRegion: async () => {
    const name = unique('r');
    return { body: { name, description: 'There', dataPlaneHost: `${name}.example.net`, tlsTermination: false } };
  },
  changeRegion: async (world) => ({ segments: { name: await makeRegion(world) }, body: { available: false } }),
  deleteRegion: async (world) => ({ segments: { name: await makeRegion(world) } }),
  createRegionKey: async (world) => ({ segments: { name: await makeRegion(world) } }),
  listEdges: nothing,
  listBlocks: nothing,
  createBlock: async () => ({ body: { value: `${unique('b')}.example.com`, reason: 'phishing' } }),
  deleteBlock: async ({ operator }) => {
    const body = { value: `${unique('b')}.example.com`, reason: 'phishing' };
    const { id } = await operator.call<{ id: string }>('POST', '/api/operator/blocks', body);
    return { segments: { id } };
  },
  importBlocks: async () => ({ body: `${unique('b')}.example.com,phishing\n` }),
  listAbuseReports: onceThereIs(makeReport),
  listServiceAudit: nothing,
  changeAbuseReport: async (world) => ({ segments: { id: await makeReport(world) }, body: { state: 'closed' } }),
};

/** The path of a call with its query; the project is the owner's unless the test gives another. */
export function pathOf(name: CallName, { segments = {}, query = {} }: PreparedCall, projectId: string | null): string {
  const call: Call = calls[name];
  const path = call.path.replace(/:([A-Za-z]+)/g, (_, key: string) => encodeURIComponent(segments[key]!));
  const search = new URLSearchParams(query);
  const asksProject = 'project' in queryShapeOf(call);
  if (asksProject && projectId !== null) search.set('project', projectId);
  return search.size === 0 ? path : `${path}?${search}`;
}

export const sendCall = (
  caller: TestClient,
  name: CallName,
  prepared: PreparedCall,
  projectId: string | null,
): Promise<Response> => caller.send(calls[name].method, pathOf(name, prepared, projectId), prepared.body, prepared.headers);
