// The calls that browser and CLI make, as data: spec section 7 in its order, then those beyond it.
// Control's routes, the OpenAPI document and the dashboard's client are checked against this table.

import type { Action } from './permission.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** `?` behind a type: the field may be missing. */
export type FieldType = 'string' | 'string?' | 'strings' | 'strings?' | 'boolean' | 'boolean?' | 'number?' | 'quotas?';

export type Payload = {
  readonly kind: 'json' | 'form' | 'multipart';
  readonly fields: Readonly<Record<string, FieldType>>;
};

export interface Call {
  readonly method: Method;
  /** `:name` stands for one encoded segment. */
  readonly path: string;
  /** Names of query parameters; `?` behind one that may be missing. */
  readonly query: readonly string[];
  /** null: no body is read. `text/csv`: that text. */
  readonly payload: Payload | 'text/csv' | null;
  /** A type of entity.ts or resource.ts, `[]` for a list; null where the body is not read. */
  readonly answer: string | null;
  /** An action of permission.ts means the caller's role in the project of the query. */
  readonly who: 'anyone' | 'user' | 'operator' | Action;
  /** Only a signed-in browser may call it: an API token is refused. */
  readonly session?: true;
  /** `If-Match` may name the state that the change began with: the `updatedAt` of what was read, in quotes. */
  readonly ifMatch?: true;
  /** What callers must know of its failures. */
  readonly errors: string;
}

const project = ['project'] as const;
const noErrors = '';
const badField = '400 with the text of the first rule that the payload breaks';
const notHere = '404 where the project has no such thing';

const json = <const F extends Readonly<Record<string, FieldType>>>(fields: F) => ({ kind: 'json', fields }) as const;
const form = <const F extends Readonly<Record<string, FieldType>>>(fields: F) => ({ kind: 'form', fields }) as const;
const multipart = <const F extends Readonly<Record<string, FieldType>>>(fields: F) => ({ kind: 'multipart', fields }) as const;

/** Spec 7, row by row. */
export const specCalls = {
  getUser: {
    method: 'GET',
    path: '/api/user',
    query: [],
    payload: null,
    answer: 'User',
    who: 'user',
    errors: '401: no user is signed in',
  },
  listProjects: {
    method: 'GET',
    path: '/api/projects',
    query: [],
    payload: null,
    answer: 'Project[]',
    who: 'user',
    errors: noErrors,
  },
  redeemLoginLink: {
    method: 'POST',
    path: '/auth/login',
    query: [],
    payload: form({ token: 'string' }),
    answer: null,
    who: 'anyone',
    errors: '401: the link is invalid, used or expired',
  },
  logOut: {
    method: 'GET',
    path: '/auth/logout',
    query: [],
    payload: null,
    answer: null,
    who: 'anyone',
    errors: '403: not a same-origin navigation',
  },
  requestLoginLink: {
    method: 'POST',
    path: '/auth/magiclink',
    query: [],
    payload: multipart({ email: 'string', 'bot-check': 'string' }),
    answer: null,
    who: 'anyone',
    errors: 'the same answer for known and unknown e-mails',
  },
  register: {
    method: 'POST',
    path: '/auth/register',
    query: [],
    payload: multipart({
      'first-name': 'string',
      'last-name': 'string',
      email: 'string',
      company: 'string?',
      'github-link': 'string?',
      'twitter-link': 'string?',
      'accept-terms': 'string',
      'bot-check': 'string',
    }),
    answer: null,
    who: 'anyone',
    errors: 'the same answer for known and unknown e-mails',
  },
  listDomains: {
    method: 'GET',
    path: '/api/domains',
    query: project,
    payload: null,
    answer: 'Domain[]',
    who: 'domain.read',
    errors: noErrors,
  },
  getDomain: {
    method: 'GET',
    path: '/api/domains/:apexName',
    query: project,
    payload: null,
    answer: 'Domain',
    who: 'domain.read',
    errors: notHere,
  },
  createDomain: {
    method: 'POST',
    path: '/api/domains',
    query: project,
    payload: json({ name: 'string' }),
    answer: 'Domain',
    who: 'domain.create',
    errors: '400: shown under the Name field; 409: the project has it',
  },
  deleteDomain: {
    method: 'DELETE',
    path: '/api/domains/:apexName',
    query: project,
    payload: null,
    answer: null,
    who: 'domain.delete',
    errors: '409: tunnels use it, named in the text',
  },
  verifyDomain: {
    method: 'POST',
    path: '/api/domains/:apexName/verify',
    query: project,
    payload: null,
    answer: 'Domain',
    who: 'domain.verify',
    errors: '409: another project owns it',
  },
  listTunnels: {
    method: 'GET',
    path: '/api/tunnels',
    query: project,
    payload: null,
    answer: 'Tunnel[]',
    who: 'tunnel.read',
    errors: noErrors,
  },
  getTunnel: {
    method: 'GET',
    path: '/api/tunnels/:name',
    query: ['project', 'metrics?'],
    payload: null,
    answer: 'Tunnel',
    who: 'tunnel.read',
    errors: notHere,
  },
  createTunnel: {
    method: 'POST',
    path: '/api/tunnels',
    query: project,
    // Empty `ingressDomains` of an http tunnel asks for a generated name.
    payload: json({
      name: 'string',
      region: 'string',
      ingressDomains: 'strings?',
      proxyProtocol: 'string?',
      type: 'string?',
    }),
    answer: 'Tunnel',
    who: 'tunnel.create',
    errors: '409: the name or an ingress domain is taken',
  },
  updateTunnel: {
    method: 'PATCH',
    path: '/api/tunnels/:name',
    query: project,
    payload: json({ ingressDomains: 'strings?', proxyProtocol: 'string?', securityGroup: 'string?' }),
    answer: 'Tunnel',
    who: 'tunnel.update',
    ifMatch: true,
    errors: '409: an ingress domain is taken; 412: changed since the state of If-Match',
  },
  deleteTunnel: {
    method: 'DELETE',
    path: '/api/tunnels/:name',
    query: project,
    payload: null,
    answer: null,
    who: 'tunnel.delete',
    errors: notHere,
  },
  lookUpDns: {
    method: 'GET',
    path: '/api/dns/lookup',
    query: ['host'],
    payload: null,
    answer: 'DnsLookup',
    who: 'user',
    errors: "403: neither a data-plane host nor of one of the caller's projects",
  },
  listRegions: {
    method: 'GET',
    path: '/api/regions',
    query: [],
    payload: null,
    answer: 'Region[]',
    who: 'user',
    errors: noErrors,
  },
  listSecurityGroups: {
    method: 'GET',
    path: '/api/security-groups',
    query: project,
    payload: null,
    answer: 'SecurityGroup[]',
    who: 'security-group.read',
    errors: noErrors,
  },
  getSecurityGroup: {
    method: 'GET',
    path: '/api/security-groups/:name',
    query: project,
    payload: null,
    answer: 'SecurityGroup',
    who: 'security-group.read',
    errors: notHere,
  },
  createSecurityGroup: {
    method: 'POST',
    path: '/api/security-groups',
    query: project,
    payload: json({ name: 'string', allow: 'strings' }),
    answer: 'SecurityGroup',
    who: 'security-group.create',
    errors: '409: the name is taken',
  },
  updateSecurityGroup: {
    method: 'PATCH',
    path: '/api/security-groups/:name',
    query: ['project?'],
    payload: json({ allow: 'strings' }),
    answer: 'SecurityGroup',
    who: 'security-group.update',
    ifMatch: true,
    errors:
      "400: without project, where not exactly one of the caller's projects has the group; 412: changed since the state of If-Match",
  },
  deleteSecurityGroup: {
    method: 'DELETE',
    path: '/api/security-groups/:name',
    query: ['project?'],
    payload: null,
    answer: null,
    who: 'security-group.delete',
    errors: '409: the default group, or tunnels use it, named in the text',
  },
} as const satisfies Readonly<Record<string, Call>>;

/** What users expect beside it: members, sessions, API tokens, audit, live status, sign-in from a terminal. */
export const moreCalls = {
  /**
   * Whether the browser that holds the link is the one that asked for it: only then does the page redeem it by itself.
   * Consumes nothing and tells nothing of a link that is not its own.
   */
  checkLoginLink: {
    method: 'POST',
    path: '/auth/link',
    query: [],
    payload: form({ token: 'string' }),
    answer: 'LoginLinkCheck',
    who: 'anyone',
    errors: noErrors,
  },
  logOutByPost: {
    method: 'POST',
    path: '/auth/logout',
    query: [],
    payload: null,
    answer: null,
    who: 'anyone',
    errors: noErrors,
  },
  getMeta: {
    method: 'GET',
    path: '/api/meta',
    query: [],
    payload: null,
    answer: 'Meta',
    who: 'anyone',
    errors: noErrors,
  },
  getBotCheck: {
    method: 'GET',
    path: '/api/bot-check',
    query: [],
    payload: null,
    answer: 'BotCheck',
    who: 'anyone',
    errors: noErrors,
  },
  getBotChallenge: {
    method: 'GET',
    path: '/api/bot-check/challenge',
    query: [],
    payload: null,
    answer: 'BotChallenge',
    who: 'anyone',
    errors: noErrors,
  },
  createProject: {
    method: 'POST',
    path: '/api/projects',
    query: [],
    payload: json({ name: 'string' }),
    answer: 'Project',
    who: 'user',
    session: true,
    errors: badField,
  },
  renameProject: {
    method: 'PATCH',
    path: '/api/projects/:id',
    query: [],
    payload: json({ name: 'string' }),
    answer: 'Project',
    who: 'project.rename',
    errors: badField,
  },
  /** With its tunnels, domains, groups, members and tokens; `name` is typed again by whoever means it. */
  deleteProject: {
    method: 'DELETE',
    path: '/api/projects/:id',
    query: [],
    payload: json({ name: 'string' }),
    answer: null,
    who: 'project.delete',
    session: true,
    errors: '400: the name is another',
  },
  listMembers: {
    method: 'GET',
    path: '/api/members',
    query: project,
    payload: null,
    answer: 'Member[]',
    who: 'member.read',
    errors: noErrors,
  },
  changeMember: {
    method: 'PATCH',
    path: '/api/members/:id',
    query: project,
    payload: json({ role: 'string' }),
    answer: 'Member',
    who: 'member.read',
    errors: '403: not by this role; 409: the last owner',
  },
  removeMember: {
    method: 'DELETE',
    path: '/api/members/:id',
    query: project,
    payload: null,
    answer: null,
    who: 'member.leave',
    errors: '403: not by this role; 409: the last owner',
  },
  listInvitations: {
    method: 'GET',
    path: '/api/invitations',
    query: project,
    payload: null,
    answer: 'Invitation[]',
    who: 'invitation.read',
    errors: noErrors,
  },
  createInvitation: {
    method: 'POST',
    path: '/api/invitations',
    query: project,
    payload: json({ email: 'string', role: 'string' }),
    answer: 'Invitation',
    who: 'invitation.create',
    errors: "403: a role above the caller's own",
  },
  deleteInvitation: {
    method: 'DELETE',
    path: '/api/invitations/:id',
    query: project,
    payload: null,
    answer: null,
    who: 'invitation.delete',
    errors: notHere,
  },
  /** What the invitation is to, for whoever holds the link and has the address that it is for. Consumes nothing. */
  checkInvitation: {
    method: 'POST',
    path: '/api/invitations/check',
    query: [],
    payload: json({ token: 'string' }),
    answer: 'InvitationOffer',
    who: 'user',
    session: true,
    errors: '400: invalid, used, expired, or for another e-mail',
  },
  acceptInvitation: {
    method: 'POST',
    path: '/api/invitations/accept',
    query: [],
    payload: json({ token: 'string' }),
    answer: 'Project',
    who: 'user',
    session: true,
    errors: '400: invalid, used, expired, or for another e-mail',
  },
  /** Erases the person: projects that nobody else is in go too. `email` is typed again by whoever means it. */
  deleteAccount: {
    method: 'DELETE',
    path: '/api/account',
    query: [],
    payload: json({ email: 'string' }),
    answer: null,
    who: 'user',
    session: true,
    errors: "400: the e-mail is another; 409: the last owner of others' project, or the last operator",
  },
  listSessions: {
    method: 'GET',
    path: '/api/sessions',
    query: [],
    payload: null,
    answer: 'Session[]',
    who: 'user',
    session: true,
    errors: noErrors,
  },
  deleteSession: {
    method: 'DELETE',
    path: '/api/sessions/:id',
    query: [],
    payload: null,
    answer: null,
    who: 'user',
    session: true,
    errors: noErrors,
  },
  listApiTokens: {
    method: 'GET',
    path: '/api/tokens',
    query: project,
    payload: null,
    answer: 'ApiToken[]',
    who: 'api-token.read',
    errors: noErrors,
  },
  createApiToken: {
    method: 'POST',
    path: '/api/tokens',
    query: project,
    payload: json({ name: 'string', role: 'string', expiresInDays: 'number?' }),
    answer: 'NewApiToken',
    who: 'api-token.create',
    session: true,
    errors: "403: a role above the caller's own",
  },
  deleteApiToken: {
    method: 'DELETE',
    path: '/api/tokens/:id',
    query: project,
    payload: null,
    answer: null,
    who: 'api-token.delete',
    session: true,
    errors: notHere,
  },
  listAudit: {
    method: 'GET',
    path: '/api/audit',
    query: ['project', 'before?', 'action?', 'actor?', 'from?', 'to?'],
    payload: null,
    answer: 'AuditPage',
    who: 'audit.read',
    errors: noErrors,
  },
  exportAudit: {
    method: 'GET',
    path: '/api/audit/export',
    query: project,
    payload: null,
    answer: 'text/csv',
    who: 'audit.read',
    errors: noErrors,
  },
  /** `overlap=0`: the old token ends at once, for one that leaked; else it works on for a while. */
  rotateToken: {
    method: 'POST',
    path: '/api/tunnels/:name/token/rotate',
    query: ['project', 'overlap?'],
    payload: null,
    answer: 'Tunnel',
    who: 'tunnel.rotate-token',
    errors: `400: an overlap other than 0; ${notHere}`,
  },
  listClients: {
    method: 'GET',
    path: '/api/tunnels/:name/clients',
    query: project,
    payload: null,
    answer: 'ConnectedClient[]',
    who: 'tunnel.read',
    errors: notHere,
  },
  getHistory: {
    method: 'GET',
    path: '/api/tunnels/:name/history',
    query: ['project', 'range'],
    payload: null,
    answer: 'TunnelHistory',
    who: 'tunnel.read',
    errors: notHere,
  },
  streamEvents: {
    method: 'GET',
    path: '/api/events',
    query: project,
    payload: null,
    answer: 'text/event-stream',
    who: 'tunnel.read',
    errors: noErrors,
  },
  startDevice: {
    method: 'POST',
    path: '/auth/device',
    query: [],
    payload: json({ name: 'string' }),
    answer: 'DeviceStart',
    who: 'anyone',
    errors: badField,
  },
  pollDevice: {
    method: 'POST',
    path: '/auth/device/token',
    query: [],
    payload: json({ deviceCode: 'string' }),
    answer: 'DeviceToken',
    who: 'anyone',
    errors: '428: not decided yet; 410: expired or denied',
  },
  getDevice: {
    method: 'GET',
    path: '/api/device/:userCode',
    query: [],
    payload: null,
    answer: 'Device',
    who: 'user',
    session: true,
    errors: '404: no such code waits',
  },
  decideDevice: {
    method: 'POST',
    path: '/api/device/:userCode',
    query: [],
    payload: json({ approve: 'boolean', project: 'string', role: 'string' }),
    answer: null,
    who: 'user',
    session: true,
    errors: '404: no such code waits',
  },
  listReleases: {
    method: 'GET',
    path: '/api/releases',
    query: [],
    payload: null,
    answer: 'Release[]',
    who: 'anyone',
    errors: noErrors,
  },
  reportAbuse: {
    method: 'POST',
    path: '/api/abuse-reports',
    query: [],
    payload: json({ host: 'string', email: 'string', text: 'string', 'bot-check': 'string' }),
    answer: null,
    who: 'anyone',
    errors: badField,
  },
} as const satisfies Readonly<Record<string, Call>>;

/** For people who run the service (User.operator). */
export const operatorCalls = {
  listRegistrations: {
    method: 'GET',
    path: '/api/operator/registrations',
    query: ['state?', 'before?'],
    payload: null,
    answer: 'OperatorRegistration[]',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  approveRegistration: {
    method: 'POST',
    path: '/api/operator/registrations/:id/approve',
    query: [],
    payload: null,
    answer: 'OperatorRegistration',
    who: 'operator',
    session: true,
    errors: '409: already decided',
  },
  rejectRegistration: {
    method: 'POST',
    path: '/api/operator/registrations/:id/reject',
    query: [],
    payload: null,
    answer: 'OperatorRegistration',
    who: 'operator',
    session: true,
    errors: '409: already decided',
  },
  listSubscriptions: {
    method: 'GET',
    path: '/api/operator/subscriptions',
    query: [],
    payload: null,
    answer: 'Subscription[]',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  createSubscription: {
    method: 'POST',
    path: '/api/operator/subscriptions',
    query: [],
    payload: json({ email: 'string', expiresAt: 'string?' }),
    answer: 'Subscription',
    who: 'operator',
    session: true,
    errors: badField,
  },
  deleteSubscription: {
    method: 'DELETE',
    path: '/api/operator/subscriptions/:id',
    query: [],
    payload: null,
    answer: null,
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  importSubscriptions: {
    method: 'POST',
    path: '/api/operator/subscriptions/import',
    query: [],
    payload: 'text/csv',
    answer: 'SubscriptionImport',
    who: 'operator',
    session: true,
    errors: badField,
  },
  listUsers: {
    method: 'GET',
    path: '/api/operator/users',
    query: ['q?', 'before?'],
    payload: null,
    answer: 'OperatorUser[]',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  changeUser: {
    method: 'PATCH',
    path: '/api/operator/users/:id',
    query: [],
    payload: json({ suspended: 'boolean?', operator: 'boolean?' }),
    answer: 'OperatorUser',
    who: 'operator',
    session: true,
    errors: '409: the last operator',
  },
  listAllProjects: {
    method: 'GET',
    path: '/api/operator/projects',
    query: ['q?', 'before?'],
    payload: null,
    answer: 'OperatorProject[]',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  changeProject: {
    method: 'PATCH',
    path: '/api/operator/projects/:id',
    query: [],
    payload: json({ suspended: 'boolean?', limits: 'quotas?' }),
    answer: 'OperatorProject',
    who: 'operator',
    session: true,
    errors: badField,
  },
  listAllTunnels: {
    method: 'GET',
    path: '/api/operator/tunnels',
    query: ['q?', 'before?'],
    payload: null,
    answer: 'OperatorTunnel[]',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  changeTunnel: {
    method: 'PATCH',
    path: '/api/operator/tunnels/:id',
    query: [],
    payload: json({ suspended: 'boolean' }),
    answer: 'OperatorTunnel',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  listOperatorRegions: {
    method: 'GET',
    path: '/api/operator/regions',
    query: [],
    payload: null,
    answer: 'OperatorRegion[]',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  createRegion: {
    method: 'POST',
    path: '/api/operator/regions',
    query: [],
    payload: json({
      name: 'string',
      description: 'string',
      dataPlaneHost: 'string',
      tlsTermination: 'boolean',
      wildcardIngressDomain: 'string?',
      available: 'boolean?',
      httpsPort: 'number?',
      httpPort: 'number?',
    }),
    answer: 'OperatorRegion',
    who: 'operator',
    session: true,
    errors: '409: the name is taken',
  },
  changeRegion: {
    method: 'PATCH',
    path: '/api/operator/regions/:name',
    query: [],
    payload: json({ description: 'string?', available: 'boolean?', wildcardIngressDomain: 'string?' }),
    answer: 'OperatorRegion',
    who: 'operator',
    session: true,
    errors: badField,
  },
  deleteRegion: {
    method: 'DELETE',
    path: '/api/operator/regions/:name',
    query: [],
    payload: null,
    answer: null,
    who: 'operator',
    session: true,
    errors: '409: tunnels are in it',
  },
  createRegionKey: {
    method: 'POST',
    path: '/api/operator/regions/:name/key',
    query: [],
    payload: null,
    answer: 'RegionKey',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  listEdges: {
    method: 'GET',
    path: '/api/operator/edges',
    query: [],
    payload: null,
    answer: 'EdgeHealth[]',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  listAbuseReports: {
    method: 'GET',
    path: '/api/operator/abuse-reports',
    query: ['state?', 'before?'],
    payload: null,
    answer: 'AbuseReport[]',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  /** What concerns no project: sessions, people, subscriptions, regions. */
  listServiceAudit: {
    method: 'GET',
    path: '/api/operator/audit',
    query: ['before?', 'action?', 'actor?', 'from?', 'to?'],
    payload: null,
    answer: 'AuditPage',
    who: 'operator',
    session: true,
    errors: noErrors,
  },
  changeAbuseReport: {
    method: 'PATCH',
    path: '/api/operator/abuse-reports/:id',
    query: [],
    payload: json({ state: 'string' }),
    answer: 'AbuseReport',
    who: 'operator',
    session: true,
    errors: badField,
  },
} as const satisfies Readonly<Record<string, Call>>;

export const calls = { ...specCalls, ...moreCalls, ...operatorCalls } as const satisfies Readonly<Record<string, Call>>;

/** Texts of calls, in a path or a body, that let somebody in: no log holds them. */
export const secretNames = ['token', 'deviceCode', 'userCode', 'bot-check'] as const;

export type CallName = keyof typeof calls;

/** The names of the `:name` segments of a path. */
export type PathNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

/** The URL of a call with its segments encoded; `.` and `..` would be resolved away and are refused as empty ones are. */
export function callPath<Name extends CallName>(
  name: Name,
  segments: Readonly<Record<PathNames<(typeof calls)[Name]['path']>, string>>,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const values: Readonly<Record<string, string>> = segments;
  const path = calls[name].path.replace(/:([A-Za-z]+)/g, (_, segment: string) => encodeSegment(values[segment] ?? ''));
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(key)}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

/** `%2E%2E` is a parent folder to a URL parser too; a tilde names nothing, so the call ends in a 404. */
function encodeSegment(value: string): string {
  return /^\.{0,2}$/.test(value) ? '~' : encodeURIComponent(value.toWellFormed());
}
