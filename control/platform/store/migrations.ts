// The schema's history, applied in order on both databases. A shipped migration is never edited: add one.
// Plain SQL that node:sqlite and Postgres both read; `bigint` holds milliseconds.

import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

const first = [
  `create table users (
    id text primary key, email text not null unique, first_name text not null, last_name text not null,
    operator integer not null, default_project text, suspended_at bigint, created_at bigint not null)`,
  `create table login_links (
    id text primary key, user_id text references users (id) on delete cascade,
    token_hash text not null unique, browser_hash text,
    created_at bigint not null, expires_at bigint not null, used_at bigint)`,
  'create index login_links_expiry on login_links (expires_at)',
  `create table sessions (
    id text primary key, user_id text not null references users (id) on delete cascade,
    token_hash text not null unique, address text not null, user_agent text not null,
    created_at bigint not null, seen_at bigint not null, expires_at bigint not null)`,
  'create index sessions_user on sessions (user_id)',
  'create index sessions_expiry on sessions (expires_at)',
  `create table registrations (
    id text primary key, email text not null unique, first_name text not null, last_name text not null,
    company text not null, github text not null, x_account text not null, subscribed integer not null, state text not null,
    created_at bigint not null, decided_at bigint, decided_by text)`,
  'create index registrations_state on registrations (state, id)',
  `create table subscriptions (
    id text primary key, email text not null unique, source text not null, active integer not null,
    expires_at bigint, updated_at bigint not null)`,
  `create table projects (
    id text primary key, name text not null, limits text, suspended_at bigint,
    revision bigint not null, created_at bigint not null)`,
  `create table members (
    project_id text not null references projects (id) on delete cascade,
    user_id text not null references users (id) on delete cascade,
    role text not null, created_at bigint not null, primary key (project_id, user_id))`,
  'create index members_user on members (user_id)',
  `create table invitations (
    id text primary key, project_id text not null references projects (id) on delete cascade,
    email text not null, role text not null, token_hash text unique, invited_by text not null,
    created_at bigint not null, expires_at bigint not null, unique (project_id, email))`,
  `create table domains (
    id text primary key, project_id text not null references projects (id) on delete cascade,
    apex_name text not null, challenge text not null, verified_at bigint, owned_apex text unique,
    checked_at bigint, misses integer not null, first_missed_at bigint, created_at bigint not null,
    unique (project_id, apex_name))`,
  'create index domains_checked on domains (checked_at)',
  `create table regions (
    name text primary key, description text not null, available integer not null, tls_termination integer not null,
    wildcard_ingress_domain text, data_plane_host text not null unique,
    https_port integer not null, http_port integer not null, created_at bigint not null)`,
  `create table edge_keys (
    id text primary key, region text not null references regions (name) on delete cascade,
    key_hash text not null unique, created_at bigint not null, expires_at bigint)`,
  'create index edge_keys_region on edge_keys (region)',
  `create table security_groups (
    id text primary key, project_id text not null references projects (id) on delete cascade,
    name text not null, allow_list text not null, created_at bigint not null, updated_at bigint not null,
    unique (project_id, name))`,
  `create table tunnels (
    id text primary key, project_id text not null references projects (id) on delete cascade,
    name text not null, type text not null, region text not null references regions (name),
    proxy_protocol text not null, security_group_id text not null references security_groups (id),
    suspended_at bigint, created_at bigint not null, updated_at bigint not null, unique (project_id, name))`,
  'create index tunnels_region on tunnels (region)',
  'create index tunnels_group on tunnels (security_group_id)',
  `create table tunnel_hosts (
    tunnel_id text not null references tunnels (id) on delete cascade, project_id text not null,
    host text not null, apex_name text not null, live_host text unique, position integer not null,
    primary key (project_id, host))`,
  'create index tunnel_hosts_tunnel on tunnel_hosts (tunnel_id)',
  'create index tunnel_hosts_apex on tunnel_hosts (project_id, apex_name)',
  `create table tunnel_tokens (
    id text primary key, tunnel_id text not null references tunnels (id) on delete cascade,
    token_hash text not null unique, token_sealed text not null, created_at bigint not null, expires_at bigint)`,
  'create index tunnel_tokens_tunnel on tunnel_tokens (tunnel_id)',
  `create table api_tokens (
    id text primary key, project_id text not null references projects (id) on delete cascade,
    user_id text not null references users (id) on delete cascade, name text not null, role text not null,
    token_hash text not null unique, created_at bigint not null, expires_at bigint, used_at bigint)`,
  'create index api_tokens_project on api_tokens (project_id)',
  `create table device_logins (
    id text primary key, device_hash text not null unique, user_code text not null unique, name text not null,
    state text not null, user_id text, project_id text, role text, address text not null,
    created_at bigint not null, expires_at bigint not null)`,
  `create table audit (
    id text primary key, at bigint not null, project_id text, actor text not null, action text not null,
    target text not null, address text not null, detail text not null)`,
  'create index audit_project on audit (project_id, id)',
  `create table abuse_reports (
    id text primary key, host text not null, email text not null, text text not null, state text not null,
    address text not null, created_at bigint not null)`,
  `create table jobs (
    id text primary key, kind text not null, payload text not null,
    attempts integer not null, due_at bigint not null, expires_at bigint not null, last_error text,
    created_at bigint not null)`,
  'create index jobs_due on jobs (due_at)',
  `create table metric_minutes (
    tunnel_id text not null references tunnels (id) on delete cascade, minute_at bigint not null,
    rx_bytes bigint not null, tx_bytes bigint not null, connections bigint not null, clients integer not null,
    primary key (tunnel_id, minute_at))`,
  'create index metric_minutes_at on metric_minutes (minute_at)',
  'create table released_names (host text primary key, project_id text not null, resting_until bigint not null)',
  'create table spent_answers (answer_hash text primary key, expires_at bigint not null)',
  'create table settings (name text primary key, value text not null)',
  'create table leases (name text primary key, holder text not null, expires_at bigint not null)',
  // The shape that rate-limiter-flexible works on.
  'create table rate_limits (key varchar(255) primary key, points integer not null default 0, expire bigint)',
];

const dataPlane = [
  `create table tunnel_routes (
    tunnel_id text primary key references tunnels (id) on delete cascade, hosts text not null)`,
  `create table certificates (
    id text primary key, name text not null unique, hosts text not null, chain_pem text not null,
    key_sealed text not null, issuer text not null, starts_at bigint not null, expires_at bigint not null, created_at bigint not null)`,
  `create table certificate_attempts (
    id text primary key, name text not null, project_id text not null, at bigint not null,
    outcome text not null, detail text not null)`,
  'create index certificate_attempts_at on certificate_attempts (at)',
  'create index certificate_attempts_name on certificate_attempts (name, at)',
  `create table challenges (
    id text primary key, region text not null, payload_sealed text not null,
    created_at bigint not null, expires_at bigint not null)`,
];

// Older attempts count for their project and overall, but for no owner.
const attemptOwners = ["alter table certificate_attempts add column owner_id text not null default ''"];

// When the authority allows the next order; the previous release writes none.
const attemptRetries = ['alter table certificate_attempts add column retry_at bigint not null default 0'];

// Which authority said so: it does not bind another one.
const attemptAuthorities = ["alter table certificate_attempts add column retry_issuer text not null default ''"];

// Sessions from before must prove again.
const proofs = [
  'alter table sessions add column proven_at bigint not null default 0',
  'alter table login_links add column session_id text',
];

// CLI tokens from before count as API tokens.
const cliTokens = ['alter table api_tokens add column cli integer not null default 0'];

const knownBrowsers = [
  `create table known_browsers (
    id text primary key, user_id text not null references users (id) on delete cascade,
    browser_hash text not null, seen_at bigint not null, unique (user_id, browser_hash))`,
];

const passkeys = [
  `create table passkeys (
    id text primary key, user_id text not null references users (id) on delete cascade,
    credential_id text not null unique, public_key text not null, sign_count bigint not null, transports text not null,
    name text not null, created_at bigint not null, used_at bigint)`,
  'create index passkeys_user on passkeys (user_id)',
  `create table recovery_codes (
    code_hash text primary key, user_id text not null references users (id) on delete cascade, created_at bigint not null)`,
  'create index recovery_codes_user on recovery_codes (user_id)',
  'alter table sessions add column passkey_at bigint',
  'alter table sessions add column passkey_id text',
  'alter table projects add column passkey_required integer not null default 0',
];

// A tunnel without a row here is kept; the previous release ignores the table.
const quickTunnels = [
  `create table quick_tunnels (
    tunnel_id text primary key references tunnels (id) on delete cascade,
    user_id text not null, label text not null unique, expires_at bigint, ends_at bigint)`,
  'create index quick_tunnels_user on quick_tunnels (user_id)',
  'create index quick_tunnels_expiry on quick_tunnels (expires_at)',
];

// A tunnel without a policy is as before; the previous release ignores the column and the tables.
const accessPolicies = [
  `create table access_policies (
    id text primary key, project_id text not null references projects (id) on delete cascade, name text not null,
    content text not null, provider_secret_sealed text, password_hash text, password_id text, keys_sealed text not null,
    assertion_jwk text not null, valid_from bigint not null, created_at bigint not null, updated_at bigint not null,
    unique (project_id, name))`,
  `create table access_tokens (
    id text primary key, policy_id text not null references access_policies (id) on delete cascade, name text not null,
    token_hash text not null unique, created_by text not null, created_at bigint not null, expires_at bigint)`,
  'create index access_tokens_policy on access_tokens (policy_id)',
  `create table access_links (
    id text primary key, policy_id text not null references access_policies (id) on delete cascade, name text not null,
    secret_hash text not null unique, uses bigint not null, most_uses bigint, used_at bigint, created_by text not null,
    created_at bigint not null, expires_at bigint)`,
  'create index access_links_policy on access_links (policy_id)',
  `create table access_sign_outs (
    policy_id text not null references access_policies (id) on delete cascade, subject text not null, at bigint not null,
    primary key (policy_id, subject))`,
  `create table access_flows (
    id text primary key, policy_id text not null references access_policies (id) on delete cascade, kind text not null,
    content_sealed text not null, tries integer not null, created_at bigint not null, expires_at bigint not null)`,
  'create index access_flows_policy on access_flows (policy_id)',
  'create index access_flows_expiry on access_flows (expires_at)',
  `create table access_sign_ins (
    id text primary key, project_id text not null references projects (id) on delete cascade, policy text not null,
    host text not null, who text not null, method text not null, allowed integer not null, reason text not null,
    address text not null, at bigint not null)`,
  'create index access_sign_ins_project on access_sign_ins (project_id, id)',
  'create index access_sign_ins_at on access_sign_ins (at)',
  `create table access_clients (
    id text primary key, content text not null, created_at bigint not null, used_at bigint not null)`,
  'create index access_clients_used on access_clients (used_at)',
  'alter table tunnels add column access_policy_id text references access_policies (id)',
  'create index tunnels_access_policy on tunnels (access_policy_id)',
];

// Lists of tunnels ask for the waiting hosts of one project. For `live_host is null` SQLite would choose the unique index of
// `live_host`, and walk the waiting hosts of all projects.
const waitingHosts = [
  "create index tunnel_hosts_waiting on tunnel_hosts (project_id, tunnel_id) where coalesce(live_host, '') = ''",
];

// Control reads what it holds each minute: with the index, without the pages of chains and keys. The sweep looks for what has
// expired.
const certificateIndexes = [
  'create index certificates_held on certificates (name, issuer, starts_at, expires_at)',
  'create index certificates_expiry on certificates (expires_at)',
];

const historyTables = ['history_minutes', 'history_quarters'] as const;
const historyColumns = `
    start_at bigint not null, tunnel_id text not null,
    rx_bytes bigint not null, tx_bytes bigint not null, connections bigint not null, clients integer not null,
    primary key (start_at, tunnel_id)`;

// The time comes first in the key, so rows are added at the end and deleted from the beginning. Rows do not refer to tunnels: a
// reference would lock a tunnel's row for each. metric_minutes stays for the previous release, which writes and reads it.
const history = {
  sqlite: historyTables.map((table) => `create table ${table} (${historyColumns}) without rowid`),
  // platform/store/partitions.ts makes the partitions. A row that has none, as after a restore, goes to the rest.
  postgres: historyTables.flatMap((table) => [
    `create table ${table} (${historyColumns}) partition by range (start_at)`,
    `create table ${table}_rest partition of ${table} default`,
  ]),
};

// A domain that only a quick tunnel named goes with it.
const quickDomains = ['alter table domains add column from_quick integer'];

// Edges of the previous release hear of no blocked address. Hosts under a blocked name are not live, for it too.
const blocks = [
  `create table blocks (
    id text primary key, kind text not null, value text not null unique, reason text not null,
    created_by text not null, created_at bigint not null)`,
  'alter table tunnel_hosts add column blocked integer',
];

// The previous release would let such an account make projects, so the operator's setting is for when no process runs that one.
// A used invitation leads its member to the project.
const invitedAccounts = [
  'alter table users add column invited_by text',
  'create index users_invited_by on users (invited_by)',
  `create table used_invitations (
    token_hash text primary key, project_id text not null references projects (id) on delete cascade,
    user_id text not null references users (id) on delete cascade, expires_at bigint not null)`,
];

// A person's own rows, for the file that they may download and for the end of their account.
const auditActors = ['create index audit_actor on audit (actor, id)'];

// Tunnels that exist may have had a client that no row tells of: they must not look as if they had never had one.
const lastClients = [
  `create table last_clients (
    tunnel_id text primary key references tunnels (id) on delete cascade, seen_at bigint not null, address text not null,
    left_at bigint, on_purpose integer not null, error_code text not null, error_address text not null, error_at bigint not null)`,
  `insert into last_clients (tunnel_id, seen_at, address, on_purpose, error_code, error_address, error_at)
    select t.id, coalesce((select max(q.start_at) from history_quarters q where q.tunnel_id = t.id and q.clients > 0), 0),
      '', 0, '', '', 0 from tunnels t`,
];

// The last DNS check of a host by the clock, and since when it has led elsewhere; null where it leads here or is not known.
const hostChecks = [
  'alter table tunnel_hosts add column dns_checked_at bigint',
  'alter table tunnel_hosts add column dns_missing_since bigint',
];

const alerts = [
  'alter table projects add column alert_wait_seconds integer',
  `create table alerts (
    id text primary key, project_id text not null references projects (id) on delete cascade, kind text not null,
    about text not null, facts text not null, observed_at bigint not null, opened_at bigint, closed_at bigint, ended text)`,
  'create unique index alerts_open on alerts (project_id, kind, about) where closed_at is null',
  'create index alerts_project on alerts (project_id, id)',
  'create index alerts_closed on alerts (closed_at)',
  `create table alert_mailings (
    project_id text not null, user_id text not null, mail integer, told_until bigint not null, mailed_at bigint not null,
    waiting integer not null, primary key (project_id, user_id),
    foreign key (project_id, user_id) references members (project_id, user_id) on delete cascade)`,
];

// The address of a webhook may be a secret itself: Slack's and Discord's are.
const alertWebhooks = [
  `create table alert_webhooks (
    project_id text primary key references projects (id) on delete cascade, url_sealed text not null, format text not null,
    secret_sealed text not null, old_secret_sealed text, old_until bigint, failing_since bigint, disabled_at bigint,
    updated_at bigint not null)`,
  `create table alert_deliveries (
    id text primary key, project_id text not null references projects (id) on delete cascade, lane text not null,
    event text not null, state text not null, attempts integer not null, due_at bigint not null, status integer, error text,
    tried_at bigint)`,
  "create index alert_deliveries_waiting on alert_deliveries (project_id, lane, id) where state = 'waiting'",
  'create index alert_deliveries_project on alert_deliveries (project_id, id)',
];

// Edges of the previous release hear of no visitor log, and the release itself writes none.
const visitorLog = [
  'alter table tunnels add column visitor_log text',
  'alter table tunnels add column visitor_log_query integer',
  `create table visitor_log (
    id text primary key, tunnel_id text not null references tunnels (id) on delete cascade, at bigint not null,
    missed bigint not null, address text not null, who text not null, method text not null, host text not null,
    path text not null, status integer not null, bytes bigint not null, edge_us bigint, tunnel_us bigint,
    upstream_us bigint, total_us bigint not null, code text not null)`,
  'create index visitor_log_tunnel on visitor_log (tunnel_id, id)',
  'create index visitor_log_at on visitor_log (at)',
  "create index visitor_log_who on visitor_log (who) where who <> ''",
];

const ownCertificates = [
  `create table own_certificates (
    id text primary key, tunnel_id text not null references tunnels (id) on delete cascade, host text not null,
    chain_pem text not null, key_sealed text not null, warning text not null, fallback smallint not null,
    starts_at bigint not null, expires_at bigint not null, created_at bigint not null, unique (tunnel_id, host))`,
  'create index own_certificates_host on own_certificates (host)',
  'create index own_certificates_expiry on own_certificates (expires_at)',
];

// A tcp tunnel without a row has no public port. The project of a deleted tunnel keeps its port for a while, also if the project is
// deleted too. The previous release knows no such tunnels, and its edges listen on none of the ports.
const tcpPorts = [
  'alter table regions add column tcp_ports text',
  `create table tcp_ports (
    region text not null references regions (name) on delete cascade, port integer not null, project_id text not null,
    tunnel_id text unique references tunnels (id) on delete set null, tunnel_name text not null, held_until bigint,
    primary key (region, port))`,
  'create index tcp_ports_project on tcp_ports (project_id)',
];

const migration = (statements: readonly string[]): Migration => ({
  up: async (db: Kysely<unknown>) => {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
});

const usage = [
  `create table usage_hours (
    hour_at bigint not null,
    project_id text not null,
    rx_bytes bigint not null,
    tx_bytes bigint not null,
    requests bigint not null,
    connections bigint not null,
    tunnel_minutes bigint not null,
    sign_ins bigint not null,
    told smallint not null,
    primary key (hour_at, project_id)
  )`,
  'create index usage_hours_project on usage_hours (project_id, hour_at)',
  'create index usage_hours_untold on usage_hours (hour_at, project_id) where told = 0',
  // The project has used up its traffic of this month.
  'alter table projects add column over_limit_at bigint',
];

// One row for each tunnel that has had traffic. The previous release adds nothing to it, so its counters then stand still.
const figures = [
  ...historyTables.map((table) => `alter table ${table} add column figures text`),
  `create table tunnel_totals (
    tunnel_id text primary key references tunnels (id) on delete cascade,
    rx_bytes bigint not null,
    tx_bytes bigint not null,
    connections bigint not null,
    figures text
  )`,
  // Edges of the previous release begin no trace, and name neither rule nor trace of a visit.
  'alter table tunnels add column begins_traces integer',
  'alter table visitor_log add column rule text',
  'alter table visitor_log add column trace text',
];

// The previous release makes no private tunnel, and its edges let nobody reach one.
const reachTickets = [
  `create table reach_tickets (
    id text primary key, tunnel_id text not null references tunnels (id) on delete cascade, name text not null,
    secret_hash text not null unique, created_by text not null, created_at bigint not null, expires_at bigint, used_at bigint)`,
  'create index reach_tickets_tunnel on reach_tickets (tunnel_id)',
];

// The previous release leaves it as it is.
const reachSignOuts = ['alter table members add column reach_ended_at bigint'];

// The previous release leaves them null. No release knew the column that goes.
const reachPasses = [
  'alter table sessions add column reach_id text',
  'alter table api_tokens add column reach_id text',
  'alter table members drop column reach_ended_at',
];

/** Migrates tables that only one database can partition. */
const migrationByKind = (statements: Readonly<Record<'sqlite' | 'postgres', readonly string[]>>): Migration => ({
  up: (db) => migration(statements[db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite']).up(db),
});

export const migrations: Record<string, Migration> = {
  '0001-first': migration(first),
  '0002-data-plane': migration(dataPlane),
  '0003-attempt-owners': migration(attemptOwners),
  '0004-attempt-retries': migration(attemptRetries),
  '0005-attempt-authorities': migration(attemptAuthorities),
  '0006-proofs': migration(proofs),
  '0007-cli-tokens': migration(cliTokens),
  '0008-known-browsers': migration(knownBrowsers),
  '0009-passkeys': migration(passkeys),
  '0010-quick-tunnels': migration(quickTunnels),
  '0011-access-policies': migration(accessPolicies),
  '0012-waiting-hosts': migration(waitingHosts),
  '0013-certificate-indexes': migration(certificateIndexes),
  '0014-history-by-time': migrationByKind(history),
  '0015-quick-domains': migration(quickDomains),
  '0016-blocks': migration(blocks),
  '0017-invited-accounts': migration(invitedAccounts),
  '0018-audit-actors': migration(auditActors),
  '0019-last-clients': migration(lastClients),
  '0020-host-checks': migration(hostChecks),
  '0021-alerts': migration(alerts),
  '0022-alert-webhooks': migration(alertWebhooks),
  '0025-usage': migration(usage),
  '0026-visitor-log': migration(visitorLog),
  '0027-tcp-ports': migration(tcpPorts),
  '0029-own-certificates': migration(ownCertificates),
  '0030-figures': migration(figures),
  '0031-reach-tickets': migration(reachTickets),
  '0032-reach-sign-outs': migration(reachSignOuts),
  '0033-reach-passes': migration(reachPasses),
};
