// Every setting of the server, once: name, sentence, default, bounds. Pure: the environment and the reader of
// secret files are passed in. The docs page and `underpass-server config` print this table (settings-page.ts).

import { isAbsolute } from 'node:path';
import { type AccessFormat, accessFormats } from '@underpass/edge/core/access-line.ts';
import { isBrowserPort } from '@underpass/rules/address/browser-port.ts';
import { isLocalhostName, isSameOrUnder } from '@underpass/rules/names/hostname.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { isInRange } from '@underpass/rules/tunnel/port-range.ts';
import { isLoopbackHost } from '@underpass/rules/tunnel/upstream.ts';
import {
  type Parsed,
  type ParseValue,
  parseAddress,
  parseBase64Key,
  parseHeaders,
  parseHostName,
  parseHostPort,
  parseKeys,
  parseList,
  parseOneOf,
  parseOrigin,
  parseOtlpUrl,
  parsePort,
  parsePorts,
  parseRange,
  parseSecret,
  parseSwitch,
  parseText,
  parseUrl,
  parseUrls,
  parseWebhookSecret,
  parseWhole,
} from './setting-values.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
type SettingGroup =
  | 'General'
  | 'Addresses'
  | 'State'
  | 'Mail'
  | 'Registration and operator'
  | 'Region and edge'
  | 'Certificates'
  | 'DNS';

export interface SettingRow<T> {
  readonly name: string;
  readonly group: SettingGroup;
  readonly about: string;
  readonly parse: ParseValue<T>;
  /** Computed only from the environment, so that `config` prints what would be used. */
  readonly fallback: (env: Environment) => T;
  /** What the docs say about the default. */
  readonly fallbackText: string;
  /** Never printed, and readable from the file that NAME_FILE names. */
  readonly secret: boolean;
}

interface RowOptions<T> {
  readonly group: SettingGroup;
  readonly about: string;
  readonly parse: ParseValue<T>;
  readonly secret?: boolean;
}

function setting<T>(name: string, options: RowOptions<T>, fallback: T | ((env: Environment) => T), fallbackText?: string) {
  const compute = typeof fallback === 'function' ? (fallback as (env: Environment) => T) : () => fallback;
  const text = fallbackText ?? (fallback === undefined ? 'none' : String(fallback));
  const { group, about, parse, secret = false } = options;
  return { name, group, about, parse, fallback: compute, fallbackText: text, secret } satisfies SettingRow<T>;
}

/** A setting without a default. */
function optional<T>(name: string, options: RowOptions<T>, fallbackText = 'none'): SettingRow<T | undefined> {
  return setting<T | undefined>(name, options, undefined, fallbackText);
}

function secret<T>(name: string, options: Omit<RowOptions<T>, 'secret'>, fallbackText = 'none'): SettingRow<T | undefined> {
  return optional(name, { ...options, secret: true }, fallbackText);
}

const isProduction = (env: Environment): boolean => valueOr(parseSwitch, env.UNDERPASS_PRODUCTION, env.NODE_ENV === 'production');

function valueOr<T>(parse: ParseValue<T>, text: string | undefined, fallback: T): T {
  const parsed = text === undefined || text === '' ? undefined : parse(text);
  return parsed?.ok === true ? parsed.value : fallback;
}

const controlPort = (env: Environment): number => valueOr(parsePort, env.UNDERPASS_PORT, 8400);
const edgePort = (env: Environment): number => valueOr(parsePort, env.UNDERPASS_EDGE_HTTPS_PORT, 8443);
const publicPort = (env: Environment): number =>
  valueOr(parseWhole(1, 65535), env.UNDERPASS_PUBLIC_HTTPS_PORT, isProduction(env) ? 443 : edgePort(env));
const laptopOrigin = (env: Environment): string => `http://localhost:${controlPort(env)}`;
const list = parseList;

/** The address of the dashboard is on a port of the edge, and the settings name no proxy in front of it. */
function ownsOrigin(env: Environment): boolean {
  const url = new URL(valueOr(parseOrigin, env.UNDERPASS_ORIGIN, laptopOrigin(env)));
  const isEdgePort = url.protocol === 'https:' && Number(url.port || 443) === publicPort(env);
  const isAll = (env.UNDERPASS_ROLE || 'all') === 'all';
  return isAll && isEdgePort && url.hostname !== env.UNDERPASS_DATA_PLANE_HOST && !env.UNDERPASS_TRUSTED_PROXIES;
}

const servesConsole = (env: Environment): boolean => valueOr(parseSwitch, env.UNDERPASS_EDGE_CONSOLE, ownsOrigin(env));

const edgeAddress = (env: Environment): string =>
  valueOr(onlyAddress, env.UNDERPASS_LISTEN, isProduction(env) ? '::' : '127.0.0.1');

function defaultHome(env: Environment): string {
  if (env.XDG_STATE_HOME) return `${env.XDG_STATE_HOME}/underpass`;
  if (env.LOCALAPPDATA) return `${env.LOCALAPPDATA}\\Underpass`;
  return `${env.HOME ?? '.'}/.local/state/underpass`;
}

export const settingTable = {
  role: setting(
    'UNDERPASS_ROLE',
    {
      group: 'General',
      about: 'What this process runs: everything, control alone, or the edge of one region.',
      parse: parseOneOf('all', 'control', 'edge'),
    },
    'all',
  ),
  home: setting(
    'UNDERPASS_HOME',
    {
      group: 'General',
      about: 'Folder for the data of this process: embedded database, keys, certificates, mailbox.',
      parse: parseText(4096),
    },
    defaultHome,
    '`underpass` in the user’s state folder',
  ),
  production: setting(
    'UNDERPASS_PRODUCTION',
    { group: 'General', about: 'Refuse to start on defaults that are safe only on a laptop.', parse: parseSwitch },
    isProduction,
    'true when NODE_ENV is production',
  ),
  log: setting(
    'UNDERPASS_LOG',
    {
      group: 'General',
      about: 'The least severe level that the log contains.',
      parse: parseOneOf('silent', 'error', 'warn', 'info', 'debug'),
    },
    (env): 'warn' | 'info' => (isProduction(env) ? 'info' : 'warn'),
    'info in production, else warn',
  ),
  replicas: setting(
    'UNDERPASS_REPLICAS',
    {
      group: 'General',
      about: 'How many control processes share this installation; over 1 needs DATABASE_URL and NATS_URL.',
      parse: parseWhole(1, 100),
    },
    1,
  ),
  quickTunnels: setting(
    'UNDERPASS_QUICK_TUNNELS',
    {
      group: 'General',
      about: 'How many quick tunnels (`underpass http PORT`) one person may have at once; 0 switches them off.',
      parse: parseWhole(0, 1000),
    },
    10,
  ),
  chosenNames: setting(
    'UNDERPASS_CHOSEN_NAMES',
    {
      group: 'General',
      about:
        'A quick tunnel with `--name docs` gets the address `docs` under the wildcard domain, if that is free and not reserved.',
      parse: parseSwitch,
    },
    false,
    'false: its address is generated, so nobody can choose one that looks like somebody else’s service',
  ),

  listen: setting(
    'UNDERPASS_LISTEN',
    {
      group: 'Addresses',
      about: 'Address that the edge listens on, and the dashboard and the API unless UNDERPASS_CONTROL_LISTEN is set.',
      parse: (text) => onlyAddress(text),
    },
    edgeAddress,
    ':: in production, else 127.0.0.1',
  ),
  controlListen: setting(
    'UNDERPASS_CONTROL_LISTEN',
    {
      group: 'Addresses',
      about: 'Address that the port of the dashboard and the API listens on.',
      parse: (text) => onlyAddress(text),
    },
    (env) => (servesConsole(env) ? '127.0.0.1' : edgeAddress(env)),
    '127.0.0.1 with UNDERPASS_EDGE_CONSOLE, else UNDERPASS_LISTEN',
  ),
  port: setting('UNDERPASS_PORT', { group: 'Addresses', about: 'Port of the dashboard and the API.', parse: parsePort }, 8400),
  edgeHttpsPort: setting(
    'UNDERPASS_EDGE_HTTPS_PORT',
    { group: 'Addresses', about: 'Port where the edge takes https visitors and clients.', parse: parsePort },
    8443,
  ),
  edgeHttpPort: setting(
    'UNDERPASS_EDGE_HTTP_PORT',
    { group: 'Addresses', about: 'Port where the edge takes plain http visitors.', parse: parsePort },
    8480,
  ),
  publicHttpsPort: setting(
    'UNDERPASS_PUBLIC_HTTPS_PORT',
    {
      group: 'Addresses',
      about:
        'Port in the https addresses that people see, if a load balancer or a port mapping changes it. A port that browsers refuse, such as 6000, prevents the start.',
      parse: parseWhole(1, 65535),
    },
    publicPort,
    '443 in production, else UNDERPASS_EDGE_HTTPS_PORT',
  ),
  origin: setting(
    'UNDERPASS_ORIGIN',
    {
      group: 'Addresses',
      about:
        'Public address of the dashboard, as browsers see it; links in mails start with it. A port that browsers refuse prevents the start.',
      parse: parseOrigin,
    },
    laptopOrigin,
    'http://localhost:UNDERPASS_PORT',
  ),
  trustedProxies: setting<readonly string[]>(
    'UNDERPASS_TRUSTED_PROXIES',
    {
      group: 'Addresses',
      about: 'Proxies in front of the dashboard whose X-Forwarded-For the server trusts.',
      parse: list(parseRange),
    },
    [],
    'none',
  ),
  providerNetworks: setting<readonly string[]>(
    'UNDERPASS_PROVIDER_NETWORKS',
    {
      group: 'Addresses',
      about:
        'Private networks where identity providers of access policies may be. Anybody who may change a policy can reach them.',
      parse: list(parseRange),
    },
    [],
    'none: public addresses only',
  ),
  webhookNetworks: setting<readonly string[]>(
    'UNDERPASS_WEBHOOK_NETWORKS',
    {
      group: 'Addresses',
      about: 'Private networks where webhooks of alerts may be. Owners and admins of every project can reach them.',
      parse: list(parseRange),
    },
    [],
    'none: public addresses only',
  ),
  metricsPort: optional(
    'UNDERPASS_METRICS_PORT',
    { group: 'Addresses', about: 'Port of the Prometheus metrics; keep it private.', parse: parsePort },
    'no metrics port',
  ),
  metricsListen: setting(
    'UNDERPASS_METRICS_LISTEN',
    { group: 'Addresses', about: 'Address that the metrics port listens on.', parse: (text) => onlyAddress(text) },
    '127.0.0.1',
  ),
  dashboard: optional(
    'UNDERPASS_DASHBOARD',
    { group: 'Addresses', about: 'Folder with the built dashboard.', parse: parseText(4096) },
    'dashboard/dist beside the server',
  ),
  releases: optional(
    'UNDERPASS_RELEASES',
    {
      group: 'Addresses',
      about: 'Folder with the released command-line files that the download page offers.',
      parse: parseText(4096),
    },
    'client/dist/releases beside the server',
  ),

  databaseUrl: secret(
    'DATABASE_URL',
    {
      group: 'State',
      about: 'Postgres database for the state, for example postgres://user:password@host/underpass.',
      parse: parseUrl('postgres', 'postgresql'),
    },
    'the embedded database in UNDERPASS_HOME',
  ),
  natsUrl: secret(
    'NATS_URL',
    {
      group: 'State',
      about: 'NATS server that carries messages between control processes; several servers of a cluster are separated by commas.',
      parse: parseUrls('nats', 'tls'),
    },
    'none; one control process needs none',
  ),
  masterKey: secret(
    'UNDERPASS_MASTER_KEY',
    {
      group: 'State',
      about:
        'Key that encrypts tokens and private keys at rest: base64 of 32 bytes. Control processes that share a database share it.',
      parse: parseKeys(32),
    },
    'made on first start and kept in UNDERPASS_HOME',
  ),

  smtpUrl: secret(
    'SMTP_URL',
    {
      group: 'Mail',
      about: 'Server that sends mail, for example smtps://user:password@mail.example.com.',
      parse: parseUrl('smtp', 'smtps'),
    },
    'no mail is sent: it goes to UNDERPASS_HOME/mailbox, and operators read it at /dev/mailbox',
  ),
  mailFrom: setting(
    'UNDERPASS_MAIL_FROM',
    { group: 'Mail', about: 'Sender of every mail.', parse: parseText(320) },
    'Underpass <no-reply@underpass.localhost>',
  ),

  operatorEmail: setting(
    'UNDERPASS_OPERATOR_EMAIL',
    { group: 'Registration and operator', about: 'First operator, made on first start.', parse: parseMailAddress },
    'operator@underpass.localhost',
  ),
  securityContact: optional(
    'UNDERPASS_SECURITY_CONTACT',
    {
      group: 'Registration and operator',
      about: 'Where security reports go, shown in security.txt: a mailto: or https: address.',
      parse: parseUrlOrMail,
    },
    'mailto: UNDERPASS_OPERATOR_EMAIL',
  ),
  invitationsApprove: setting(
    'UNDERPASS_INVITATIONS_APPROVE',
    {
      group: 'Registration and operator',
      about:
        'An owner’s invitation approves the account of the person whom it invites. The account can then use only projects that invite it.',
      parse: parseSwitch,
    },
    false,
    'false: an operator approves every account',
  ),
  operatorName: setting(
    'UNDERPASS_OPERATOR_NAME',
    {
      group: 'Registration and operator',
      about: 'The company that runs this service, for the legal pages and the footer.',
      parse: parseText(120),
    },
    'Underpass Ltd',
  ),
  operatorAddress: optional('UNDERPASS_OPERATOR_ADDRESS', {
    group: 'Registration and operator',
    about: 'Its registered address, for the legal pages.',
    parse: parseText(300),
  }),
  operatorCompanyNumber: optional('UNDERPASS_OPERATOR_COMPANY_NUMBER', {
    group: 'Registration and operator',
    about: 'Its company number, for the legal pages.',
    parse: parseText(40),
  }),
  turnstileSiteKey: optional(
    'UNDERPASS_TURNSTILE_SITE_KEY',
    {
      group: 'Registration and operator',
      about: 'Cloudflare Turnstile site key; with the secret it replaces the built-in bot check.',
      parse: parseText(256),
    },
    'the built-in bot check',
  ),
  turnstileSecret: secret('UNDERPASS_TURNSTILE_SECRET', {
    group: 'Registration and operator',
    about: 'Cloudflare Turnstile secret.',
    parse: parseText(256),
  }),
  turnstileUrl: setting(
    'UNDERPASS_TURNSTILE_URL',
    { group: 'Registration and operator', about: 'Address that checks Turnstile answers.', parse: parseUrl('https', 'http') },
    'https://challenges.cloudflare.com/turnstile/v0/siteverify',
  ),
  subscriptionLookupUrl: optional('UNDERPASS_SUBSCRIPTION_LOOKUP_URL', {
    group: 'Registration and operator',
    about: 'URL that the server asks with ?email= whether a registration has an active subscription.',
    parse: parseUrl('https', 'http'),
  }),
  subscriptionLookupToken: secret('UNDERPASS_SUBSCRIPTION_LOOKUP_TOKEN', {
    group: 'Registration and operator',
    about: 'Bearer token for the subscription lookup.',
    parse: parseText(4096),
  }),
  subscriptionWebhookSecret: secret(
    'UNDERPASS_SUBSCRIPTION_WEBHOOK_SECRET',
    {
      group: 'Registration and operator',
      about: 'Signs the webhook that reports changed subscriptions.',
      parse: parseSecret(16),
    },
    'the webhook is off',
  ),
  usageWebhookUrl: optional('UNDERPASS_USAGE_WEBHOOK_URL', {
    group: 'Registration and operator',
    about: 'URL of a billing system that gets what each project used in each hour.',
    parse: parseUrl('https', 'http'),
  }),
  usageWebhookSecret: secret('UNDERPASS_USAGE_WEBHOOK_SECRET', {
    group: 'Registration and operator',
    about: 'Signs what the billing system gets (Standard Webhooks): whsec_ and 24 to 64 bytes in Base64.',
    parse: parseWebhookSecret,
  }),

  region: setting(
    'UNDERPASS_REGION',
    {
      group: 'Region and edge',
      about: 'Region that this edge serves; in role all also the region made on first start.',
      parse: parseLabel,
    },
    'local',
  ),
  regionDescription: setting(
    'UNDERPASS_REGION_DESCRIPTION',
    { group: 'Region and edge', about: 'Name of that first region in the dashboard.', parse: parseText(120) },
    'This machine',
  ),
  dataPlaneHost: setting(
    'UNDERPASS_DATA_PLANE_HOST',
    {
      group: 'Region and edge',
      about: 'Host that clients of this region dial, and that CNAME records point at.',
      parse: parseDomainName,
    },
    'local.localhost',
  ),
  wildcardDomain: setting(
    'UNDERPASS_WILDCARD_DOMAIN',
    { group: 'Region and edge', about: 'Domain under which that first region generates names.', parse: parseDomainName },
    'tunnels.localhost',
  ),
  tcpPorts: optional('UNDERPASS_TCP_PORTS', {
    group: 'Region and edge',
    about:
      'Public ports that the edge may open for tcp tunnels, such as 20000-20099. In role all, also the range of that first region; another region gets its range on the operator page Regions. Without it there are no tcp tunnels.',
    parse: parsePorts,
  }),
  edgeConsole: setting(
    'UNDERPASS_EDGE_CONSOLE',
    {
      group: 'Region and edge',
      about:
        "In role all: the edge also serves the dashboard, on the edge's ports, under the host of UNDERPASS_ORIGIN. No other proxy is needed.",
      parse: parseSwitch,
    },
    ownsOrigin,
    'true where UNDERPASS_ORIGIN is https on the port of the edge and UNDERPASS_TRUSTED_PROXIES is empty',
  ),
  controlUrl: optional('UNDERPASS_CONTROL_URL', {
    group: 'Region and edge',
    about: 'Where an edge finds control. Needed in role edge.',
    parse: parseUrl('https', 'http'),
  }),
  edgeKey: secret('UNDERPASS_EDGE_KEY', {
    group: 'Region and edge',
    about: 'Key that control gave to this region (underpass-server regions key). Needed in role edge.',
    parse: parseSecret(16),
  }),
  edgeId: optional(
    'UNDERPASS_EDGE_ID',
    { group: 'Region and edge', about: 'Name of this edge among those of its region.', parse: parseLabel },
    'made on first start and kept in UNDERPASS_HOME',
  ),
  edgeWorkers: setting(
    'UNDERPASS_EDGE_WORKERS',
    { group: 'Region and edge', about: 'Processes of the edge; 0 means one for each core.', parse: parseWhole(0, 256) },
    (env) => (isProduction(env) ? 0 : 1),
    '0 in production, else 1',
  ),
  edgeConnections: optional(
    'UNDERPASS_EDGE_CONNECTIONS',
    {
      group: 'Region and edge',
      about: 'Connections that each process of the edge holds at once on its public ports; the last tenth is for clients.',
      parse: parseWhole(100, 10_000_000),
    },
    'what four fifths of its file descriptors and half of its share of the memory allow',
  ),
  edgeConnectionsPerAddress: optional(
    'UNDERPASS_EDGE_CONNECTIONS_PER_ADDRESS',
    {
      group: 'Region and edge',
      about: 'How many of these connections one IPv4 address or one IPv6 /64 may have.',
      parse: parseWhole(10, 10_000_000),
    },
    '2000, or a quarter of UNDERPASS_EDGE_CONNECTIONS where that is less',
  ),
  accessLog: optional(
    'UNDERPASS_ACCESS_LOG',
    {
      group: 'Region and edge',
      about: 'File where the edge writes a line for each request of a visitor: an absolute path, or stdout.',
      parse: parseLogPath,
    },
    'no access log',
  ),
  accessLogFormat: setting(
    'UNDERPASS_ACCESS_LOG_FORMAT',
    {
      group: 'Region and edge',
      about: 'Format of these lines: that of nginx and Apache, or the same with the host and the port in front.',
      parse: parseOneOf(...accessFormats),
    },
    (): AccessFormat => 'combined',
    'combined',
  ),
  otlpUrl: optional(
    'UNDERPASS_OTLP_URL',
    {
      group: 'Region and edge',
      about: 'Base URL of an OpenTelemetry collector (OTLP over HTTP) that gets the figures of this edge’s tunnels.',
      parse: parseOtlpUrl,
    },
    'nothing is exported',
  ),
  otlpHeaders: secret('UNDERPASS_OTLP_HEADERS', {
    group: 'Region and edge',
    about: 'Headers for the collector, such as a token: name=value, several separated by commas.',
    parse: parseHeaders,
  }),
  otlpRequests: setting(
    'UNDERPASS_OTLP_REQUESTS',
    {
      group: 'Region and edge',
      about: 'Send the collector a record of each request of a visitor too, with the visitor’s address.',
      parse: parseSwitch,
    },
    false,
  ),
  answerSeconds: setting(
    'UNDERPASS_ANSWER_SECONDS',
    {
      group: 'Region and edge',
      about: 'How long a service behind a tunnel may take to begin its answer. After that the visitor gets 504.',
      parse: parseWhole(1, 3600),
    },
    120,
  ),
  congestion: setting(
    'UNDERPASS_CONGESTION',
    {
      group: 'Region and edge',
      about:
        'Congestion control of connections: BBR on long paths where the kernel offers it, and not on short ones (path), or always the default of the system (system).',
      parse: parseOneOf('path', 'system'),
    },
    'path',
  ),
  drainSeconds: setting(
    'UNDERPASS_DRAIN_SECONDS',
    {
      group: 'Region and edge',
      about: 'How long a stop waits for open requests and connections of visitors, then cuts them.',
      parse: parseWhole(0, 3600),
    },
    (env) => (isProduction(env) ? 45 : 10),
    '45 in production, else 10',
  ),
  trustedBalancers: setting<readonly string[]>(
    'UNDERPASS_TRUSTED_BALANCERS',
    {
      group: 'Region and edge',
      about: 'Load balancers in front of the edge that send a PROXY protocol header.',
      parse: list(parseRange),
    },
    [],
    'none',
  ),
  hopPort: optional(
    'UNDERPASS_HOP_PORT',
    { group: 'Region and edge', about: 'Port where edges of one region hand visitors to each other.', parse: parsePort },
    'no hand-over between edges',
  ),
  hopAddress: optional('UNDERPASS_HOP_ADDRESS', {
    group: 'Region and edge',
    about: 'host:port at which the other edges reach that port.',
    parse: parseHostPort,
  }),
  hopSecret: secret(
    'UNDERPASS_HOP_SECRET',
    {
      group: 'Region and edge',
      about: 'Secret that only the edges of this region share; they authenticate to each other with it.',
      parse: parseSecret(16),
    },
    'UNDERPASS_EDGE_KEY',
  ),

  certificates: optional('UNDERPASS_CERTIFICATES', {
    group: 'Certificates',
    about:
      'Folder of certificates that you supply: NAME.crt (the chain, PEM) beside NAME.key. The server reads them again when they change.',
    parse: parseText(4096),
  }),
  acmeDirectory: optional(
    'UNDERPASS_ACME_DIRECTORY',
    {
      group: 'Certificates',
      about: 'ACME directory that issues certificates, for example https://acme-v02.api.letsencrypt.org/directory.',
      parse: parseUrl('https', 'http'),
    },
    'a local authority that this machine makes',
  ),
  acmeEmail: optional('UNDERPASS_ACME_EMAIL', {
    group: 'Certificates',
    about: 'Contact for the ACME account.',
    parse: parseMailAddress,
  }),
  acmeEabKeyId: optional('UNDERPASS_ACME_EAB_KEY_ID', {
    group: 'Certificates',
    about: 'Key id for external account binding, if the authority requires one (ZeroSSL, Google).',
    parse: parseText(512),
  }),
  acmeEabHmac: secret('UNDERPASS_ACME_EAB_HMAC', {
    group: 'Certificates',
    about: 'The HMAC key that belongs to that key id, base64url.',
    parse: parseBase64Key(16),
  }),
  acmeCaFile: optional('UNDERPASS_ACME_CA_FILE', {
    group: 'Certificates',
    about: 'Extra authority (PEM) to trust when talking to the ACME directory.',
    parse: parseText(4096),
  }),
  acmeOrders: setting(
    'UNDERPASS_ACME_ORDERS',
    {
      group: 'Certificates',
      about:
        "Most certificates to order in three hours for all projects together, below what the authority allows your account: Let's Encrypt allows 300, and more on request; an authority of your own may have no limit.",
      // A week of them is read in each pass.
      parse: parseWhole(1, 2_400),
    },
    240,
  ),
  acmeOrdersPerProject: setting(
    'UNDERPASS_ACME_ORDERS_PER_PROJECT',
    {
      group: 'Certificates',
      about: 'Most certificates to order in a day for one project; twice as many for all projects of one person.',
      parse: parseWhole(1, 19_200),
    },
    40,
  ),
  rfc2136Server: optional('UNDERPASS_RFC2136_SERVER', {
    group: 'Certificates',
    about: 'DNS server that accepts RFC 2136 updates, for wildcard certificates by DNS-01.',
    parse: parseAddress(53),
  }),
  rfc2136Zone: optional('UNDERPASS_RFC2136_ZONE', {
    group: 'Certificates',
    about: 'Zone that those updates change.',
    parse: parseHostName,
  }),
  rfc2136KeyName: optional('UNDERPASS_RFC2136_KEY_NAME', {
    group: 'Certificates',
    about: 'Name of the TSIG key (hmac-sha256).',
    parse: parseHostName,
  }),
  rfc2136Key: secret('UNDERPASS_RFC2136_KEY', {
    group: 'Certificates',
    about: 'The TSIG key, base64.',
    parse: parseBase64Key(16),
  }),
  acmeChallengeZone: optional('UNDERPASS_ACME_CHALLENGE_ZONE', {
    group: 'Certificates',
    about:
      'Zone to which users lead `_acme-challenge` of their wildcards by a CNAME: that of the RFC 2136 settings or one below, or any that the hook changes.',
    parse: parseHostName,
  }),
  acmeDnsHook: optional('UNDERPASS_ACME_DNS_HOOK', {
    group: 'Certificates',
    about:
      'Absolute path of a program that changes TXT records there instead of RFC 2136: it gets `set` or `delete`, name and value.',
    parse: parseProgram,
  }),

  dnsServers: setting<readonly { address: string; port: number }[]>(
    'UNDERPASS_DNS_SERVERS',
    { group: 'DNS', about: 'DNS servers that verify domains, as addresses with optional ports.', parse: list(parseAddress(53)) },
    [],
    'those of the system',
  ),
} as const;

type Table = typeof settingTable;
export type Settings = { readonly [K in keyof Table]: ReturnType<Table[K]['fallback']> } & {
  /** Names of the settings that the environment sets. */
  readonly given: ReadonlySet<string>;
};
export type SettingsResult =
  | { readonly ok: true; readonly settings: Settings; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[]; readonly warnings: readonly string[] };

function onlyAddress(text: string): Parsed<string> {
  const parsed = parseAddress(1)(text);
  const plain = parsed.ok && parsed.value.address === text;
  return plain ? { ok: true, value: text } : { ok: false, problem: `must be an IP address, is "${text}"` };
}

function parseLogPath(text: string): Parsed<string> {
  if (text === 'stdout') return { ok: true, value: text };
  const isPath = isAbsolute(text) && text.length <= 4096;
  return isPath ? { ok: true, value: text } : { ok: false, problem: `must be an absolute path or stdout, is "${text}"` };
}

function parseLabel(text: string): Parsed<string> {
  const valid = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
  return valid
    ? { ok: true, value: text }
    : { ok: false, problem: `must be lower-case letters, digits and hyphens, is "${text}"` };
}

function parseMailAddress(text: string): Parsed<string> {
  const parsed = parseEmail(text);
  return parsed.ok ? parsed : { ok: false, problem: `must be an e-mail address, is "${text}"` };
}

/** Names that clients dial and visitors are sent to: at least two labels, so that a certificate can name them. */
function parseDomainName(text: string): Parsed<string> {
  const parsed = parseHostName(text);
  return !parsed.ok || parsed.value.includes('.') ? parsed : { ok: false, problem: `must have a dot, is "${text}"` };
}

function parseUrlOrMail(text: string): Parsed<string> {
  const valid = /^mailto:[^\s@]+@[^\s@]+$/.test(text) || URL.parse(text)?.protocol === 'https:';
  return valid ? { ok: true, value: text } : { ok: false, problem: `must start with mailto: or https:, is "${text}"` };
}

export type ReadFile = (path: string) => string;

/** The text given for a row: its own variable, or for a secret the file that NAME_FILE names. */
function givenText(row: SettingRow<unknown>, env: Environment, readFile: ReadFile): Parsed<string | undefined> {
  const text = env[row.name] || undefined;
  const path = row.secret ? env[`${row.name}_FILE`] || undefined : undefined;
  if (path === undefined) return { ok: true, value: text };
  if (text !== undefined) return { ok: false, problem: `is set twice, by ${row.name} and by ${row.name}_FILE` };
  try {
    return { ok: true, value: readFile(path).trim() || undefined };
  } catch {
    return { ok: false, problem: `cannot be read from the file "${path}" that ${row.name}_FILE names` };
  }
}

function readRow<T>(row: SettingRow<T>, env: Environment, readFile: ReadFile): Parsed<T> {
  const given = givenText(row, env, readFile);
  if (!given.ok) return given;
  return given.value === undefined ? { ok: true, value: row.fallback(env) } : row.parse(given.value);
}

/** Every problem at once, each starting with the name of its setting. */
export function readSettings(env: Environment, readFile: ReadFile): SettingsResult {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [key, row] of Object.entries<SettingRow<unknown>>(settingTable)) {
    const parsed = readRow(row, env, readFile);
    if (parsed.ok) values[key] = parsed.value;
    else problems.push(`${row.name} ${parsed.problem}`);
  }
  const warnings = unknownNames(env);
  if (problems.length > 0) return { ok: false, problems, warnings };
  const given = new Set(Object.values(settingTable).flatMap(({ name }) => (env[name] || env[`${name}_FILE`] ? [name] : [])));
  const settings = { ...values, given } as unknown as Settings;
  const disagreements = [...settingsThatDisagree(settings), ...(settings.production ? laptopDefaults(settings) : [])];
  if (disagreements.length > 0) return { ok: false, problems: disagreements, warnings };
  return { ok: true, settings, warnings: [...warnings, ...problemsOf(doubts, settings)] };
}

export type ServerLocation = Pick<Settings, 'home' | 'role'>;

/** Where to find the running server. Reads no secret, because systemd lets a unit's ExecReload read none. */
export function readLocation(env: Environment): Parsed<ServerLocation> {
  const home = readRow(settingTable.home, env, () => '');
  const role = readRow(settingTable.role, env, () => '');
  if (!home.ok) return { ok: false, problem: `${settingTable.home.name} ${home.problem}` };
  if (!role.ok) return { ok: false, problem: `${settingTable.role.name} ${role.problem}` };
  return { ok: true, value: { home: home.value, role: role.value } };
}

/** A misspelt setting must not pass in silence; not an error, because Kubernetes adds names of its own. */
const clientNames = new Set([
  'UNDERPASS_TOKEN',
  'UNDERPASS_API_TOKEN',
  'UNDERPASS_CONFIG',
  'UNDERPASS_DEBUG',
  'UNDERPASS_PROJECT',
  'UNDERPASS_SERVER',
]);

function unknownNames(env: Environment): string[] {
  const known = new Set<string>();
  for (const row of Object.values(settingTable)) {
    known.add(row.name);
    if (row.secret) known.add(`${row.name}_FILE`);
  }
  const strange = Object.keys(env).filter((name) => name.startsWith('UNDERPASS_') && !known.has(name) && !clientNames.has(name));
  return strange.sort().map((name) => `${name} is not a setting; run underpass-server config to see them all`);
}

function parseProgram(text: string): Parsed<string> {
  const isPath = isAbsolute(text) && text.length <= 4096;
  return isPath ? { ok: true, value: text } : { ok: false, problem: `must be an absolute path, is "${text}"` };
}

interface Requirement {
  readonly problem: string;
  readonly broken: (settings: Settings) => boolean;
}

const rfc2136Keys = ['rfc2136Server', 'rfc2136Zone', 'rfc2136KeyName', 'rfc2136Key'] as const;
const countSet = (settings: Settings, keys: readonly (keyof Settings)[]): number =>
  keys.filter((key) => settings[key] !== undefined).length;

const ownPorts = (s: Settings): readonly number[] =>
  [s.port, s.edgeHttpsPort, s.edgeHttpPort, s.metricsPort, s.hopPort].flatMap((port) => port ?? []);

const requirements: readonly Requirement[] = [
  { problem: 'UNDERPASS_CONTROL_URL is needed in role edge', broken: (s) => s.role === 'edge' && s.controlUrl === undefined },
  { problem: 'UNDERPASS_EDGE_KEY is needed in role edge', broken: (s) => s.role === 'edge' && s.edgeKey === undefined },
  {
    problem: 'DATABASE_URL is needed when UNDERPASS_REPLICAS is over 1: the embedded database serves one process',
    broken: (s) => s.replicas > 1 && s.databaseUrl === undefined,
  },
  {
    problem: 'NATS_URL is needed when UNDERPASS_REPLICAS is over 1: the processes must hear of each other',
    broken: (s) => s.replicas > 1 && s.natsUrl === undefined,
  },
  {
    problem: 'UNDERPASS_MASTER_KEY is needed when UNDERPASS_REPLICAS is over 1: the processes must share it',
    broken: (s) => s.replicas > 1 && s.masterKey === undefined,
  },
  {
    problem: 'UNDERPASS_TCP_PORTS must name none of the ports on which this server listens for something else',
    broken: (s) => ownPorts(s).some((port) => s.tcpPorts !== undefined && isInRange(s.tcpPorts, port)),
  },
  {
    problem: 'UNDERPASS_TURNSTILE_SITE_KEY and UNDERPASS_TURNSTILE_SECRET must be set together',
    broken: (s) => countSet(s, ['turnstileSiteKey', 'turnstileSecret']) === 1,
  },
  {
    problem: 'UNDERPASS_USAGE_WEBHOOK_URL and UNDERPASS_USAGE_WEBHOOK_SECRET must be set together',
    broken: (s) => countSet(s, ['usageWebhookUrl', 'usageWebhookSecret']) === 1,
  },
  {
    problem: 'UNDERPASS_ACME_EAB_KEY_ID and UNDERPASS_ACME_EAB_HMAC must be set together',
    broken: (s) => countSet(s, ['acmeEabKeyId', 'acmeEabHmac']) === 1,
  },
  {
    problem: 'UNDERPASS_ORIGIN (or UNDERPASS_PORT if that decides it) has a port that browsers refuse to open',
    broken: (s) => runsControl(s) && !isBrowserPort(Number(new URL(s.origin).port)),
  },
  {
    problem:
      'UNDERPASS_PUBLIC_HTTPS_PORT (or UNDERPASS_EDGE_HTTPS_PORT if that decides it) is a port that browsers refuse to open',
    broken: (s) => !isBrowserPort(s.publicHttpsPort),
  },
  {
    problem: 'UNDERPASS_EDGE_CONSOLE is for role all: an edge elsewhere has no dashboard beside it',
    broken: (s) => s.edgeConsole && s.role !== 'all',
  },
  {
    problem: 'UNDERPASS_EDGE_CONSOLE needs an https address in UNDERPASS_ORIGIN',
    broken: (s) => s.edgeConsole && !s.origin.startsWith('https:'),
  },
  {
    problem: 'UNDERPASS_EDGE_CONSOLE needs two names: the host of UNDERPASS_ORIGIN cannot be UNDERPASS_DATA_PLANE_HOST',
    broken: (s) => s.edgeConsole && originHost(s) === s.dataPlaneHost,
  },
  {
    problem: 'UNDERPASS_HOP_SECRET is needed with UNDERPASS_HOP_PORT where there is no UNDERPASS_EDGE_KEY',
    broken: (s) => s.hopPort !== undefined && s.hopSecret === undefined && s.edgeKey === undefined,
  },
  {
    problem: 'UNDERPASS_HOP_PORT and UNDERPASS_HOP_ADDRESS must be set together',
    broken: (s) => countSet(s, ['hopPort', 'hopAddress']) === 1,
  },
  {
    problem:
      'UNDERPASS_RFC2136_SERVER, UNDERPASS_RFC2136_ZONE, UNDERPASS_RFC2136_KEY_NAME and UNDERPASS_RFC2136_KEY must be set together',
    broken: (s) => ![0, 4].includes(countSet(s, rfc2136Keys)),
  },
  {
    problem: 'UNDERPASS_ACME_CHALLENGE_ZONE needs UNDERPASS_ACME_DIRECTORY: only its authority looks for proofs there',
    broken: (s) => s.acmeChallengeZone !== undefined && s.acmeDirectory === undefined,
  },
  {
    problem: 'UNDERPASS_ACME_DNS_HOOK needs UNDERPASS_ACME_CHALLENGE_ZONE: it changes records there alone',
    broken: (s) => s.acmeDnsHook !== undefined && s.acmeChallengeZone === undefined,
  },
  {
    problem: 'UNDERPASS_ACME_CHALLENGE_ZONE needs UNDERPASS_ACME_DNS_HOOK, or a UNDERPASS_RFC2136_ZONE that it is or lies under',
    broken: ({ acmeChallengeZone: zone, acmeDnsHook: hook, rfc2136Zone: updated }) =>
      zone !== undefined && hook === undefined && (updated === undefined || !isSameOrUnder(zone, updated)),
  },
];

/** Warnings, which do not prevent a start. The bot check needs Web Crypto, which browsers offer only over https and on localhost.
 */
const doubts: readonly Requirement[] = [
  {
    problem:
      'UNDERPASS_ORIGIN is http and not on this machine: browsers run no bot check there, so that nobody can ask for a sign-in link',
    broken: (s) =>
      runsControl(s) && s.origin.startsWith('http:') && !isLoopbackHost(originHost(s)) && s.turnstileSecret === undefined,
  },
];

const settingsThatDisagree = (settings: Settings): string[] => problemsOf(requirements, settings);
const problemsOf = (list: readonly Requirement[], settings: Settings): string[] =>
  list.filter((each) => each.broken(settings)).map((each) => each.problem);

const runsControl = (s: Settings): boolean => s.role !== 'edge';
const originHost = (s: Settings): string => new URL(s.origin).hostname;

/** Defaults that are convenient on a laptop, each refused in production with its name. */
const productionRules: readonly Requirement[] = [
  {
    problem: 'SMTP_URL must be set in production: without it mail stays in a folder',
    broken: (s) => runsControl(s) && s.smtpUrl === undefined,
  },
  {
    problem: 'UNDERPASS_ORIGIN must be a public https address in production',
    broken: (s) => runsControl(s) && (isLocalhostName(originHost(s)) || !s.origin.startsWith('https:')),
  },
  {
    problem: 'UNDERPASS_OPERATOR_EMAIL must be a real mailbox in production',
    broken: (s) => runsControl(s) && s.operatorEmail.endsWith('localhost'),
  },
  {
    problem: 'UNDERPASS_MAIL_FROM must be a real sender in production',
    broken: (s) => runsControl(s) && /localhost>?$/.test(s.mailFrom),
  },
  {
    problem: 'UNDERPASS_MASTER_KEY must be set in production, or UNDERPASS_MASTER_KEY_FILE: keep it apart from the database',
    broken: (s) => runsControl(s) && s.masterKey === undefined,
  },
  {
    problem:
      'UNDERPASS_ACME_DIRECTORY or UNDERPASS_CERTIFICATES must be set in production: browsers do not trust the local authority',
    broken: (s) => runsControl(s) && s.acmeDirectory === undefined && s.certificates === undefined,
  },
  {
    problem: 'UNDERPASS_DATA_PLANE_HOST must be a public name in production',
    broken: (s) => s.role !== 'control' && isLocalhostName(s.dataPlaneHost),
  },
  {
    problem: 'UNDERPASS_WILDCARD_DOMAIN must be a public name in production',
    broken: (s) => s.role === 'all' && isLocalhostName(s.wildcardDomain),
  },
  {
    problem: 'UNDERPASS_CONTROL_URL must start with https:// in production',
    broken: (s) => s.role === 'edge' && s.controlUrl?.startsWith('http:') === true,
  },
];

const laptopDefaults = (settings: Settings): string[] => problemsOf(productionRules, settings);
