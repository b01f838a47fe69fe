// The tables as TypeScript sees them: one schema for node:sqlite and Postgres.
// Portable types only: text ids, integer milliseconds (`_at`), 0 or 1 for claims, JSON as text.

import type { ProxyProtocol, Role } from '@underpass/rules/entity/entity.ts';
import type { AlertEnd } from '@underpass/rules/tunnel/alert.ts';
import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import type { KeptAddress } from '@underpass/rules/tunnel/visitor-log.ts';
import type { DeliveryState, WebhookFormat } from '@underpass/rules/tunnel/webhook.ts';

export type Flag = 0 | 1;

export type RegistrationState = 'waiting' | 'approved' | 'rejected';

/** What passed through a tunnel in a minute, or in a quarter of an hour. It refers to no tunnel: rows of deleted ones expire. */
interface HistoryTable {
  /** Start of the minute or quarter, ms. */
  start_at: number;
  tunnel_id: string;
  rx_bytes: number;
  tx_bytes: number;
  connections: number;
  /** The most that were connected at once. */
  clients: number;
  /** rules/tunnel/figures.ts. Null where no edge said any. */
  figures: string | null;
}

export interface Schema {
  users: {
    id: string;
    /** Canonical: lower case. Unique. */
    email: string;
    first_name: string;
    last_name: string;
    operator: Flag;
    default_project: string | null;
    suspended_at: number | null;
    created_at: number;
    /**
     * The owner whose invitation approved the account (an e-mail); null if an operator did. Such an account makes no projects, and
     * its own invitations approve nobody.
     */
    invited_by: string | null;
  };
  login_links: {
    id: string;
    /** Null if the e-mail has no account: the server does the same work for it, and sends no token. */
    user_id: string | null;
    /** SHA-256 of the token, hex. */
    token_hash: string;
    /** SHA-256 of the asking browser's cookie; null for links that an operator made. */
    browser_hash: string | null;
    /** Set on a link that renews the proof of this session; such a link signs nobody in. */
    session_id: string | null;
    created_at: number;
    expires_at: number;
    used_at: number | null;
  };
  sessions: {
    id: string;
    user_id: string;
    token_hash: string;
    address: string;
    user_agent: string;
    created_at: number;
    seen_at: number;
    /** When the user last proved who they are: by the sign-in, or again since. 0 for a session from before this was kept. */
    proven_at: number;
    /** When a passkey or a recovery code last proved who uses it; null if none has. */
    passkey_at: number | null;
    /** The passkey that signed in; null for an e-mail link. */
    passkey_id: string | null;
    expires_at: number;
    /** What the passes to private tunnels name that this session got; null before the first, and once they are over. */
    reach_id: string | null;
  };
  /** A browser in which the user has signed in: by the hash of its cookie. */
  known_browsers: {
    id: string;
    user_id: string;
    browser_hash: string;
    seen_at: number;
  };
  passkeys: {
    id: string;
    user_id: string;
    /** The id that the authenticator gave it, in base64url. Unique. */
    credential_id: string;
    /** COSE, in base64url. */
    public_key: string;
    sign_count: number;
    /** JSON list of words of WebAuthn: how a browser reaches it. */
    transports: string;
    name: string;
    created_at: number;
    used_at: number | null;
  };
  recovery_codes: {
    /** SHA-256 of the code, hex. The row goes when the code is used. */
    code_hash: string;
    user_id: string;
    created_at: number;
  };
  registrations: {
    id: string;
    email: string;
    first_name: string;
    last_name: string;
    company: string;
    github: string;
    x_account: string;
    /** An active subscription was found when the registration came in. */
    subscribed: Flag;
    state: RegistrationState;
    created_at: number;
    decided_at: number | null;
    decided_by: string | null;
  };
  subscriptions: {
    id: string;
    email: string;
    source: 'operator' | 'import' | 'webhook';
    active: Flag;
    /** End of the paid period; null when open. */
    expires_at: number | null;
    updated_at: number;
  };
  projects: {
    id: string;
    name: string;
    /** JSON of the limits that the operator changed; null for the defaults. */
    limits: string | null;
    suspended_at: number | null;
    /** Members need a passkey. */
    passkey_required: Flag;
    /** How long a tunnel may be down before an alert opens; null for the default. */
    alert_wait_seconds: number | null;
    /** Raised first in every write of the project: the row lock that serialises its quotas and owners. */
    revision: number;
    /** Set while the traffic of this month is used up: the project's tunnels stand still. */
    over_limit_at: number | null;
    created_at: number;
  };
  members: {
    project_id: string;
    user_id: string;
    role: Role;
    created_at: number;
  };
  invitations: {
    id: string;
    project_id: string;
    email: string;
    role: Role;
    /** Null until the mail is written. */
    token_hash: string | null;
    invited_by: string;
    created_at: number;
    expires_at: number;
  };
  /** Where the link of an accepted invitation leads its member. */
  used_invitations: {
    /** SHA-256 of the invitation's token, hex. */
    token_hash: string;
    project_id: string;
    user_id: string;
    expires_at: number;
  };
  domains: {
    id: string;
    project_id: string;
    apex_name: string;
    challenge: string;
    verified_at: number | null;
    /** The apex while verified, else null. Unique: one project owns a verified apex. */
    owned_apex: string | null;
    checked_at: number | null;
    /** Consecutive failed re-checks of a verified domain, and when the first of them was. */
    misses: number;
    first_missed_at: number | null;
    created_at: number;
    /** 1 if a quick tunnel made it, and nobody has added or verified it since: it goes with the last tunnel under it. */
    from_quick: number | null;
  };
  tunnels: {
    id: string;
    project_id: string;
    name: string;
    type: TunnelType;
    region: string;
    proxy_protocol: ProxyProtocol;
    security_group_id: string;
    /** The policy of an http tunnel; null: none. */
    access_policy_id: string | null;
    /** What the visitor log keeps of addresses; null: it is off. */
    visitor_log: KeptAddress | null;
    /** 1: the visitor log keeps queries. */
    visitor_log_query: Flag | null;
    /** 1: the edge begins a trace for a request without one. */
    begins_traces: Flag | null;
    suspended_at: number | null;
    created_at: number;
    updated_at: number;
  };
  /** Visits of tunnels whose visitor log is on. */
  visitor_log: {
    id: string;
    tunnel_id: string;
    at: number;
    /** Visits that were not kept; the row says nothing else if it is over 0. */
    missed: number;
    /** An address or a network. */
    address: string;
    who: string;
    method: string;
    host: string;
    path: string;
    status: number;
    bytes: number;
    /** Microseconds. */
    edge_us: number | null;
    tunnel_us: number | null;
    upstream_us: number | null;
    total_us: number;
    code: string;
    /** The path rule that refused; null: none. */
    rule: string | null;
    /** The trace id that the upstream got; null: none. */
    trace: string | null;
  };
  /** Tunnels that `underpass http PORT` made. */
  quick_tunnels: {
    tunnel_id: string;
    /** Who made it. No reference: the tunnel must expire even after the account is deleted. */
    user_id: string;
    /** Stands for the person, the project and the folder: the first label of the generated name. Unique. */
    label: string;
    /** When control deletes the tunnel; moved on while a client is connected. Null: somebody keeps it. */
    expires_at: number | null;
    /** When control deletes it in any case. */
    ends_at: number | null;
  };
  tunnel_hosts: {
    tunnel_id: string;
    project_id: string;
    /** Lower-case A-label, no trailing dot. Unique within its project. */
    host: string;
    /** Empty for a generated name. */
    apex_name: string;
    /** The host while its apex is verified or it is generated, else null. Unique: one tunnel serves a host. */
    live_host: string | null;
    position: number;
    /** 1 while a block holds the name: the host is not live then. */
    blocked: number | null;
    /** The last check by the clock; null before the first. */
    dns_checked_at: number | null;
    /** The first of the checks without a break that found the host leading elsewhere. */
    dns_missing_since: number | null;
  };
  tunnel_tokens: {
    id: string;
    tunnel_id: string;
    token_hash: string;
    /** Sealed by the key ring. */
    token_sealed: string;
    created_at: number;
    /** Set on the old token by rotation; null on the one in use. */
    expires_at: number | null;
  };
  security_groups: {
    id: string;
    project_id: string;
    name: string;
    /** JSON list of canonical addresses and CIDRs. */
    allow_list: string;
    created_at: number;
    updated_at: number;
  };
  access_policies: {
    id: string;
    project_id: string;
    /** Unique in its project. */
    name: string;
    /** JSON: rules, members, people, the provider without its secret, tokenHeader, sessionHours, log. */
    content: string;
    /** Sealed by the key ring; null: no provider, or one without a secret. */
    provider_secret_sealed: string | null;
    /** scrypt with its salt and cost; null: no password. */
    password_hash: string | null;
    /** Changes with the password: sessions name it. */
    password_id: string | null;
    /** JSON of the seal key and the assertion's key pair, sealed by the key ring. */
    keys_sealed: string;
    /** The public half of the assertion's key: a JWK. */
    assertion_jwk: string;
    /** Sessions from before this are over. */
    valid_from: number;
    created_at: number;
    updated_at: number;
  };
  access_tokens: {
    id: string;
    policy_id: string;
    name: string;
    token_hash: string;
    created_by: string;
    created_at: number;
    expires_at: number | null;
  };
  reach_tickets: {
    id: string;
    tunnel_id: string;
    name: string;
    secret_hash: string;
    created_by: string;
    created_at: number;
    expires_at: number | null;
    used_at: number | null;
  };
  access_links: {
    id: string;
    policy_id: string;
    name: string;
    secret_hash: string;
    uses: number;
    most_uses: number | null;
    used_at: number | null;
    created_by: string;
    created_at: number;
    expires_at: number | null;
  };
  /** Visitors whose sessions an owner ended. A row outlives the longest session that it ends. */
  access_sign_outs: {
    policy_id: string;
    subject: string;
    at: number;
  };
  /** A sign-in that is under way, and what programs hold to renew theirs. */
  access_flows: {
    /** SHA-256, hex, of the secret that continues it. */
    id: string;
    policy_id: string;
    kind: 'code' | 'oidc' | 'grant' | 'refresh';
    /** JSON, sealed by the key ring. */
    content_sealed: string;
    tries: number;
    created_at: number;
    expires_at: number;
  };
  /** The sign-in log. */
  access_sign_ins: {
    id: string;
    project_id: string;
    policy: string;
    host: string;
    who: string;
    method: string;
    allowed: Flag;
    reason: string;
    address: string;
    at: number;
  };
  /** Programs that registered themselves (RFC 7591). */
  access_clients: {
    id: string;
    /** JSON: name and redirect URIs. */
    content: string;
    created_at: number;
    used_at: number;
  };
  api_tokens: {
    id: string;
    project_id: string;
    /** The creator: the token never does more than this member may do now. */
    user_id: string;
    name: string;
    role: Role;
    /** Made by `underpass login`: it belongs to one terminal, ends with the user's sign-ins, and every use prolongs it. */
    cli: Flag;
    token_hash: string;
    created_at: number;
    expires_at: number | null;
    used_at: number | null;
    /** The same as of a session. */
    reach_id: string | null;
  };
  device_logins: {
    id: string;
    device_hash: string;
    user_code: string;
    name: string;
    state: 'pending' | 'approved' | 'denied';
    user_id: string | null;
    project_id: string | null;
    role: Role | null;
    address: string;
    created_at: number;
    expires_at: number;
  };
  audit: {
    /** Sorts by time. */
    id: string;
    at: number;
    /** Null for what concerns no project. */
    project_id: string | null;
    actor: string;
    action: string;
    target: string;
    address: string;
    /** JSON object. */
    detail: string;
  };
  regions: {
    name: string;
    description: string;
    available: Flag;
    tls_termination: Flag;
    wildcard_ingress_domain: string | null;
    /** The range of the public ports of tcp tunnels; null: the region offers none. */
    tcp_ports: string | null;
    data_plane_host: string;
    /** Public ports of the region's edges. */
    https_port: number;
    http_port: number;
    created_at: number;
  };
  /** The public port of a tcp tunnel. A tcp tunnel without a row has none. */
  tcp_ports: {
    region: string;
    port: number;
    project_id: string;
    /** Null once the tunnel is deleted. */
    tunnel_id: string | null;
    /** A new tunnel of this name gets the port again. */
    tunnel_name: string;
    /** No other project gets the port before. Null while a tunnel has it. */
    held_until: number | null;
  };
  edge_keys: {
    id: string;
    region: string;
    key_hash: string;
    created_at: number;
    /** Set on the old key when a new one is made; null on the one in use. */
    expires_at: number | null;
  };
  abuse_reports: {
    id: string;
    host: string;
    email: string;
    text: string;
    state: 'open' | 'closed';
    address: string;
    created_at: number;
  };
  /** What an operator blocks for the whole service. */
  blocks: {
    id: string;
    kind: 'address' | 'name';
    /** Canonical: an address, a range, or a name that holds those below it. Unique. */
    value: string;
    reason: string;
    /** The operator's e-mail, or `operator` for a command. */
    created_by: string;
    created_at: number;
  };
  /** Work that an answer does not wait for: see platform/job/queue.ts. */
  jobs: {
    id: string;
    kind: string;
    /** JSON; never a secret: tokens are made when their mail is written. */
    payload: string;
    attempts: number;
    /** When it may be tried (again). A worker that takes it moves this ahead. */
    due_at: number;
    expires_at: number;
    last_error: string | null;
    created_at: number;
  };
  /** What has passed through a tunnel since it first had traffic: counters that never fall, whatever restarts. */
  tunnel_totals: {
    tunnel_id: string;
    rx_bytes: number;
    tx_bytes: number;
    connections: number;
    figures: string | null;
  };
  /** What a project used in one hour. It stays when the project is deleted: an operator's bill may need it. */
  usage_hours: {
    /** Start of the hour, ms. */
    hour_at: number;
    project_id: string;
    rx_bytes: number;
    tx_bytes: number;
    requests: number;
    connections: number;
    /** Minutes in which a tunnel had a client, of all tunnels. */
    tunnel_minutes: number;
    /** Sign-ins of visitors at access policies. */
    sign_ins: number;
    /** The operator's billing system has this row. */
    told: Flag;
  };
  /** The history as the previous release writes it. */
  metric_minutes: {
    tunnel_id: string;
    /** Start of the minute, ms. */
    minute_at: number;
    rx_bytes: number;
    tx_bytes: number;
    connections: number;
    clients: number;
  };
  /** The routes that edges have acknowledged. Kept so that no live tunnel looks unready after a restart of control. */
  tunnel_routes: {
    tunnel_id: string;
    /** The hosts that were acknowledged, sorted, joined by commas. */
    hosts: string;
  };
  /** The last client of a tunnel, so that a restart of control forgets neither when it fell nor why. No row: it never had a client. */
  last_clients: {
    tunnel_id: string;
    /** When it was last known to be connected. 0: before this was kept. */
    seen_at: number;
    address: string;
    /** Null while it is connected, and where its leave was not seen. */
    left_at: number | null;
    on_purpose: Flag;
    /** What last kept a client from working: a code, empty for none. */
    error_code: string;
    error_address: string;
    error_at: number;
  };
  /** Alerts. A project has at most one open row for each kind and `about`. */
  alerts: {
    id: string;
    project_id: string;
    kind: string;
    /** What it is about, within the kind: a tunnel, a domain, a region. */
    about: string;
    /** JSON of AlertFacts. */
    facts: string;
    observed_at: number;
    /** Null while its waiting time runs. */
    opened_at: number | null;
    closed_at: number | null;
    ended: AlertEnd | null;
  };
  /** A member's alert mails. No row: the default of the role, and no mail yet. */
  alert_mailings: {
    project_id: string;
    user_id: string;
    /** Null for the default of the role. */
    mail: Flag | null;
    /** News up to this time is in a mail. */
    told_until: number;
    mailed_at: number;
    /** News is kept for the next mail. */
    waiting: Flag;
  };
  /** A project's webhook. Its address is a secret too. */
  alert_webhooks: {
    project_id: string;
    url_sealed: string;
    format: WebhookFormat;
    secret_sealed: string;
    /** Signs too until `old_until`. */
    old_secret_sealed: string | null;
    old_until: number | null;
    /** When the first of the failures in a row happened. */
    failing_since: number | null;
    disabled_at: number | null;
    updated_at: number;
  };
  alert_deliveries: {
    id: string;
    project_id: string;
    /** Deliveries of a lane keep their order. */
    lane: string;
    /** JSON of WebhookEvent. */
    event: string;
    state: DeliveryState;
    attempts: number;
    due_at: number;
    /** The last answer, or why there was none. */
    status: number | null;
    error: string | null;
    tried_at: number | null;
  };
  certificates: {
    id: string;
    /** The host or wildcard that it was made for. Unique: a renewal replaces it. */
    name: string;
    /** JSON list. */
    hosts: string;
    chain_pem: string;
    /** Sealed by the key ring. */
    key_sealed: string;
    /** Which authority made it. A certificate of another authority is replaced. */
    issuer: string;
    starts_at: number;
    expires_at: number;
    created_at: number;
  };
  /** Certificates that projects give for ingress domains of theirs. They serve while the domain is live in the same tunnel. */
  own_certificates: {
    /** Begins with `own-`. A replacement has a new one. */
    id: string;
    tunnel_id: string;
    /** Unique together with the tunnel. */
    host: string;
    chain_pem: string;
    /** Sealed by the key ring. */
    key_sealed: string;
    /** What may be wrong, in words; empty if nothing is. */
    warning: string;
    /** An authority's certificate follows when this one ends. */
    fallback: Flag;
    starts_at: number;
    expires_at: number;
    created_at: number;
  };
  /** Orders at the certificate authority: budgets and back-off count them. */
  certificate_attempts: {
    id: string;
    name: string;
    /** Empty for our own names. */
    project_id: string;
    /** Kept here, because a project may be deleted before its attempts are forgotten. Empty if it is not known. */
    owner_id: string;
    at: number;
    outcome: 'started' | 'issued' | 'failed';
    detail: string;
    /** When the authority allows the next order; 0 if it set no time. */
    retry_at: number;
    /** Which authority said so. */
    retry_issuer: string;
  };
  /** ACME challenges that the edges of a region must answer now. */
  challenges: {
    id: string;
    region: string;
    /** A FeedChallenge as JSON, sealed by the key ring. */
    payload_sealed: string;
    created_at: number;
    expires_at: number;
  };
  released_names: {
    host: string;
    project_id: string;
    /** No other project may take it before this. */
    resting_until: number;
  };
  /** Proof-of-work answers already spent. */
  spent_answers: {
    answer_hash: string;
    expires_at: number;
  };
  settings: {
    name: string;
    /** JSON. */
    value: string;
  };
  /** Named, expiring locks between control replicas. */
  leases: {
    name: string;
    holder: string;
    expires_at: number;
  };
  history_minutes: HistoryTable;
  history_quarters: HistoryTable;
}
