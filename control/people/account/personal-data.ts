// What each table holds about a person: the columns of the file that they may ask for, and what stays after their account is deleted.
// The types name every table and column, so the author of a new one has to decide.

import { type RawBuilder, sql } from 'kysely';
import type { Schema } from '../../platform/store/schema.ts';

export interface DataSubject {
  readonly id: string;
  readonly email: string;
}

/** How the file shows a column. */
export type Shown = 'text' | 'number' | 'time' | 'claim' | 'json';

/** Why the file leaves a column out. */
interface LeftOut {
  readonly because: string;
}

export interface Holding<Table extends keyof Schema = keyof Schema> {
  /** The name of these rows in the file. */
  readonly section: string;
  /** True for the rows of this person. */
  readonly of: (person: DataSubject) => RawBuilder<boolean>;
  /** A column that no two rows of a person share. */
  readonly key: keyof Schema[Table] & string;
  readonly columns: { readonly [Column in keyof Schema[Table]]: Shown | LeftOut };
  /** What the columns do not say themselves, such as the name of a project. */
  readonly added?: Readonly<Record<string, RawBuilder<unknown>>>;
  /** Rows that still name the person after the account is deleted, and why; absent: there are none. */
  readonly stays?: string;
}

/** The table has no row that the file shows. `stays` as above. */
interface NotShown {
  readonly because: string;
  readonly stays?: string;
}

const secret: LeftOut = { because: 'it proves who somebody is' };
const own: LeftOut = { because: 'it is the id or the address of the person, which the file names once' };
const internal: LeftOut = { because: 'it orders the work of the service and says nothing about a person' };
const ofOthers: LeftOut = { because: 'it is about another person' };

const byId = ({ id }: DataSubject): RawBuilder<boolean> => sql<boolean>`user_id = ${id}`;
const byEmail = ({ email }: DataSubject): RawBuilder<boolean> => sql<boolean>`email = ${email}`;
const byMaker = ({ email }: DataSubject): RawBuilder<boolean> => sql<boolean>`created_by = ${email}`;

const projectName = (table: keyof Schema): RawBuilder<unknown> =>
  sql`(select p.name from projects p where p.id = ${sql.ref(`${table}.project_id`)})`;

const ofProject: NotShown = { because: 'it belongs to a project, whose pages and calls show it to its members' };
const ofService: NotShown = { because: 'it is about the service, not about a person' };

/** Tables in the order of the file. */
export const personalData: { readonly [Table in keyof Schema]: Holding<Table> | NotShown } = {
  users: {
    section: 'account',
    of: ({ id }) => sql<boolean>`id = ${id}`,
    key: 'id',
    columns: {
      ...{ id: 'text', email: 'text', first_name: 'text', last_name: 'text', operator: 'claim' },
      ...{ default_project: 'text', invited_by: 'text', suspended_at: 'time', created_at: 'time' },
    },
  },
  registrations: {
    section: 'registrations',
    of: byEmail,
    key: 'id',
    columns: {
      ...{ id: internal, email: 'text', first_name: 'text', last_name: 'text', company: 'text', github: 'text' },
      ...{ x_account: 'text', subscribed: 'claim', state: 'text', created_at: 'time', decided_at: 'time', decided_by: ofOthers },
    },
  },
  subscriptions: {
    section: 'subscriptions',
    of: byEmail,
    key: 'id',
    columns: { id: internal, email: own, source: 'text', active: 'claim', expires_at: 'time', updated_at: 'time' },
  },
  members: {
    section: 'memberships',
    of: byId,
    key: 'project_id',
    columns: { project_id: 'text', user_id: own, role: 'text', created_at: 'time' },
    added: { project_name: projectName('members') },
  },
  invitations: {
    section: 'invitations',
    of: ({ email }) => sql<boolean>`(email = ${email} or invited_by = ${email})`,
    key: 'id',
    columns: {
      ...{ id: internal, project_id: 'text', email: 'text', role: 'text', token_hash: secret, invited_by: 'text' },
      ...{ created_at: 'time', expires_at: 'time' },
    },
    added: { project_name: projectName('invitations') },
  },
  used_invitations: {
    section: 'usedInvitations',
    of: byId,
    key: 'token_hash',
    columns: { token_hash: secret, project_id: 'text', user_id: own, expires_at: 'time' },
    added: { project_name: projectName('used_invitations') },
  },
  sessions: {
    section: 'sessions',
    of: byId,
    key: 'id',
    columns: {
      ...{ id: internal, user_id: own, token_hash: secret, address: 'text', user_agent: 'text', created_at: 'time' },
      ...{ seen_at: 'time', proven_at: 'time', passkey_at: 'time', passkey_id: internal, expires_at: 'time' },
      reach_id: internal,
    },
  },
  login_links: {
    section: 'signInLinks',
    of: byId,
    key: 'id',
    columns: {
      ...{ id: internal, user_id: own, token_hash: secret, browser_hash: secret, session_id: internal },
      ...{ created_at: 'time', expires_at: 'time', used_at: 'time' },
    },
  },
  known_browsers: {
    section: 'knownBrowsers',
    of: byId,
    key: 'id',
    columns: { id: internal, user_id: own, browser_hash: secret, seen_at: 'time' },
  },
  passkeys: {
    section: 'passkeys',
    of: byId,
    key: 'id',
    columns: {
      ...{ id: internal, user_id: own, credential_id: secret, public_key: secret, sign_count: internal, transports: 'json' },
      ...{ name: 'text', created_at: 'time', used_at: 'time' },
    },
  },
  recovery_codes: {
    section: 'recoveryCodes',
    of: byId,
    key: 'code_hash',
    columns: { code_hash: secret, user_id: own, created_at: 'time' },
  },
  api_tokens: {
    section: 'apiTokens',
    of: byId,
    key: 'id',
    columns: {
      ...{ id: internal, project_id: 'text', user_id: own, name: 'text', role: 'text', cli: 'claim', token_hash: secret },
      ...{ created_at: 'time', expires_at: 'time', used_at: 'time', reach_id: internal },
    },
    added: { project_name: projectName('api_tokens') },
  },
  alert_mailings: {
    section: 'alertMails',
    of: byId,
    key: 'project_id',
    columns: { project_id: 'text', user_id: own, mail: 'claim', told_until: internal, mailed_at: 'time', waiting: internal },
    added: { project_name: projectName('alert_mailings') },
  },
  device_logins: {
    section: 'terminals',
    of: byId,
    key: 'id',
    columns: {
      ...{ id: internal, device_hash: secret, user_code: secret, name: 'text', state: 'text', user_id: own, project_id: 'text' },
      ...{ role: 'text', address: 'text', created_at: 'time', expires_at: 'time' },
    },
  },
  quick_tunnels: {
    section: 'quickTunnels',
    of: byId,
    key: 'tunnel_id',
    columns: { tunnel_id: 'text', user_id: own, label: 'text', expires_at: 'time', ends_at: 'time' },
  },
  access_tokens: {
    section: 'accessTokens',
    of: byMaker,
    key: 'id',
    columns: {
      ...{ id: internal, policy_id: internal, name: 'text', token_hash: secret, created_by: own },
      ...{ created_at: 'time', expires_at: 'time' },
    },
  },
  access_links: {
    section: 'accessLinks',
    of: byMaker,
    key: 'id',
    columns: {
      ...{ id: internal, policy_id: internal, name: 'text', secret_hash: secret, uses: 'number', most_uses: 'number' },
      ...{ used_at: 'time', created_by: own, created_at: 'time', expires_at: 'time' },
    },
  },
  reach_tickets: {
    section: 'reachTickets',
    of: byMaker,
    key: 'id',
    columns: {
      ...{ id: internal, tunnel_id: internal, name: 'text', secret_hash: secret, created_by: own },
      ...{ created_at: 'time', expires_at: 'time', used_at: 'time' },
    },
  },
  access_sign_ins: {
    section: 'visitorSignIns',
    // Anybody can type an address: only a sign-in that was allowed is the person's.
    of: ({ email }) => sql<boolean>`(who = ${email} and allowed = 1)`,
    key: 'id',
    columns: {
      ...{ id: internal, project_id: internal, policy: 'text', host: 'text', who: own, method: 'text' },
      ...{ allowed: internal, reason: internal, address: 'text', at: 'time' },
    },
  },
  visitor_log: {
    section: 'visits',
    of: ({ email }) => sql<boolean>`who = ${email}`,
    key: 'id',
    columns: {
      ...{ id: internal, tunnel_id: internal, at: 'time', missed: internal, address: 'text', who: own, method: 'text' },
      ...{ host: 'text', path: 'text', status: 'number', bytes: 'number', edge_us: internal, tunnel_us: internal },
      ...{ upstream_us: internal, total_us: internal, code: 'text', rule: 'text', trace: 'text' },
    },
  },
  certificate_attempts: {
    section: 'certificateOrders',
    of: ({ id }) => sql<boolean>`owner_id = ${id}`,
    key: 'id',
    columns: {
      ...{ id: internal, name: 'text', project_id: 'text', owner_id: own, at: 'time', outcome: 'text' },
      ...{ detail: internal, retry_at: internal, retry_issuer: internal },
    },
  },
  abuse_reports: {
    section: 'abuseReports',
    of: byEmail,
    key: 'id',
    columns: {
      ...{ id: internal, host: 'text', email: own, text: 'text', state: 'text', created_at: 'time' },
      address: { because: 'a report may come from anybody who types this e-mail' },
    },
    stays: 'a report is the record of a case, and is kept for as long as the privacy policy says',
  },
  blocks: {
    section: 'blocks',
    of: byMaker,
    key: 'id',
    columns: { id: internal, kind: 'text', value: 'text', reason: 'text', created_by: own, created_at: 'time' },
  },
  audit: {
    section: 'audit',
    // Rows of others about the person name those others.
    of: ({ email }) => sql<boolean>`actor = ${email}`,
    key: 'id',
    columns: {
      ...{ id: internal, at: 'time', project_id: 'text', actor: own, action: 'text', target: 'text', address: 'text' },
      detail: 'json',
    },
  },
  access_sign_outs: {
    because: 'it says only that earlier sign-ins at a tunnel do not count',
    stays: 'the id or address stays until the longest session that it ends is over, or that session would open the tunnel again',
  },
  access_flows: { because: 'a sign-in that is under way, encrypted; it ends within minutes, or with the session of a program' },
  jobs: { because: 'work that is under way', stays: 'the mail that says that the account is deleted goes there' },
  access_policies: {
    because: 'it belongs to a project, whose pages and calls show it to its members',
    stays: 'its owners wrote the address into the list of people who may visit',
  },
  projects: ofProject,
  domains: ofProject,
  tunnels: ofProject,
  tunnel_hosts: ofProject,
  tunnel_tokens: ofProject,
  own_certificates: ofProject,
  tcp_ports: ofProject,
  security_groups: ofProject,
  metric_minutes: ofProject,
  history_minutes: ofProject,
  history_quarters: ofProject,
  tunnel_routes: ofProject,
  last_clients: ofProject,
  alerts: ofProject,
  alert_webhooks: ofProject,
  alert_deliveries: ofProject,
  usage_hours: ofProject,
  tunnel_totals: ofProject,
  released_names: ofProject,
  access_clients: ofService,
  regions: ofService,
  edge_keys: ofService,
  certificates: ofService,
  challenges: ofService,
  spent_answers: ofService,
  settings: ofService,
  leases: ofService,
};
