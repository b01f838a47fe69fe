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

export interface SettingRow<T> {
  readonly name: string;
  readonly about: string;
  readonly parse: ParseValue<T>;
  /** Computed only from the environment, so that `config` prints what would be used. */
  readonly fallback: (env: Environment) => T;
  /** What the docs say about the default. */
  readonly fallbackText: string;
  /** Never printed, and readable from the file that NAME_FILE names. */
  readonly secret: boolean;
}

function setting<T>(
  name: string,
  about: string,
  parse: ParseValue<T>,
  fallback: T | ((env: Environment) => T),
  fallbackText = fallback === undefined ? 'none' : String(fallback),
): SettingRow<T> {
  const compute = typeof fallback === 'function' ? (fallback as (env: Environment) => T) : () => fallback;
  return { name, about, parse, fallback: compute, fallbackText, secret: false };
}

/** A setting without a default. */
function optional<T>(name: string, about: string, parse: ParseValue<T>, fallbackText = 'none'): SettingRow<T | undefined> {
  return setting<T | undefined>(name, about, parse, undefined, fallbackText);
}

function secret<T>(name: string, about: string, parse: ParseValue<T>, fallbackText = 'none'): SettingRow<T | undefined> {
  return { ...optional(name, about, parse, fallbackText), secret: true };
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

/** The rows under the headings of docs/settings.md. */
export const settingGroups = {
  General: {
    role: setting(
      'UNDERPASS_ROLE',
      'What this process runs: everything, control alone, or the edge of one region.',
      parseOneOf('all', 'control', 'edge'),
      'all',
    ),
    home: setting(
      'UNDERPASS_HOME',
      'Folder for the data of this process: embedded database, keys, certificates, mailbox.',
      parseText(4096),
      defaultHome,
      '`underpass` in the user’s state folder',
    ),
    production: setting(
      'UNDERPASS_PRODUCTION',
      'Refuse to start on defaults that are safe only on a laptop.',
      parseSwitch,
      isProduction,
      'true when NODE_ENV is production',
    ),
    log: setting(
      'UNDERPASS_LOG',
      'The least severe level that the log contains.',
      parseOneOf('silent', 'error', 'warn', 'info', 'debug'),
      (env): 'warn' | 'info' => (isProduction(env) ? 'info' : 'warn'),
      'info in production, else warn',
    ),
    replicas: setting(
      'UNDERPASS_REPLICAS',
      'How many control processes share this installation; over 1 needs DATABASE_URL and NATS_URL.',
      parseWhole(1, 100),
      1,
    ),
    quickTunnels: setting(
      'UNDERPASS_QUICK_TUNNELS',
      'How many quick tunnels (`underpass http PORT`) one person may have at once; 0 switches them off.',
      parseWhole(0, 1000),
      10,
    ),
    chosenNames: setting(
      'UNDERPASS_CHOSEN_NAMES',
      'A quick tunnel with `--name docs` gets the address `docs` under the wildcard domain, if that is free and not reserved.',
      parseSwitch,
      false,
      'false: its address is generated, so nobody can choose one that looks like somebody else’s service',
    ),
  },
  Addresses: {
    listen: setting(
      'UNDERPASS_LISTEN',
      'Address that the edge listens on, and the dashboard and the API unless UNDERPASS_CONTROL_LISTEN is set.',
      (text) => onlyAddress(text),
      edgeAddress,
      ':: in production, else 127.0.0.1',
    ),
    controlListen: setting(
      'UNDERPASS_CONTROL_LISTEN',
      'Address that the port of the dashboard and the API listens on.',
      (text) => onlyAddress(text),
      (env) => (servesConsole(env) ? '127.0.0.1' : edgeAddress(env)),
      '127.0.0.1 with UNDERPASS_EDGE_CONSOLE, else UNDERPASS_LISTEN',
    ),
    port: setting('UNDERPASS_PORT', 'Port of the dashboard and the API.', parsePort, 8400),
    edgeHttpsPort: setting('UNDERPASS_EDGE_HTTPS_PORT', 'Port where the edge takes https visitors and clients.', parsePort, 8443),
    edgeHttpPort: setting('UNDERPASS_EDGE_HTTP_PORT', 'Port where the edge takes plain http visitors.', parsePort, 8480),
    publicHttpsPort: setting(
      'UNDERPASS_PUBLIC_HTTPS_PORT',
      'Port in the https addresses that people see, if a load balancer or a port mapping changes it. A port that browsers refuse, such as 6000, prevents the start.',
      parseWhole(1, 65535),
      publicPort,
      '443 in production, else UNDERPASS_EDGE_HTTPS_PORT',
    ),
    origin: setting(
      'UNDERPASS_ORIGIN',
      'Public address of the dashboard, as browsers see it; links in mails start with it. A port that browsers refuse prevents the start.',
      parseOrigin,
      laptopOrigin,
      'http://localhost:UNDERPASS_PORT',
    ),
    trustedProxies: setting<readonly string[]>(
      'UNDERPASS_TRUSTED_PROXIES',
      'Proxies in front of the dashboard whose X-Forwarded-For the server trusts.',
      list(parseRange),
      [],
      'none',
    ),
    providerNetworks: setting<readonly string[]>(
      'UNDERPASS_PROVIDER_NETWORKS',
      'Private networks where identity providers of access policies may be. Anybody who may change a policy can reach them.',
      list(parseRange),
      [],
      'none: public addresses only',
    ),
    webhookNetworks: setting<readonly string[]>(
      'UNDERPASS_WEBHOOK_NETWORKS',
      'Private networks where webhooks of alerts may be. Owners and admins of every project can reach them.',
      list(parseRange),
      [],
      'none: public addresses only',
    ),
    metricsPort: optional(
      'UNDERPASS_METRICS_PORT',
      'Port of the Prometheus metrics; keep it private.',
      parsePort,
      'no metrics port',
    ),
    metricsListen: setting(
      'UNDERPASS_METRICS_LISTEN',
      'Address that the metrics port listens on.',
      (text) => onlyAddress(text),
      '127.0.0.1',
    ),
    dashboard: optional(
      'UNDERPASS_DASHBOARD',
      'Folder with the built dashboard.',
      parseText(4096),
      'dashboard/dist beside the server',
    ),
    releases: optional(
      'UNDERPASS_RELEASES',
      'Folder with the released command-line files that the download page offers.',
      parseText(4096),
      'client/dist/releases beside the server',
    ),
  },
  State: {
    databaseUrl: secret(
      'DATABASE_URL',
      'Postgres database for the state, for example postgres://user:password@host/underpass.',
      parseUrl('postgres', 'postgresql'),
      'the embedded database in UNDERPASS_HOME',
    ),
    natsUrl: secret(
      'NATS_URL',
      'NATS server that carries messages between control processes; several servers of a cluster are separated by commas.',
      parseUrls('nats', 'tls'),
      'none; one control process needs none',
    ),
    masterKey: secret(
      'UNDERPASS_MASTER_KEY',
      'Key that encrypts tokens and private keys at rest: base64 of 32 bytes. Control processes that share a database share it.',
      parseKeys,
      'made on first start and kept in UNDERPASS_HOME',
    ),
  },
  Mail: {
    smtpUrl: secret(
      'SMTP_URL',
      'Server that sends mail, for example smtps://user:password@mail.example.com.',
      parseUrl('smtp', 'smtps'),
      'no mail is sent: it goes to UNDERPASS_HOME/mailbox, and operators read it at /dev/mailbox',
    ),
    mailFrom: setting('UNDERPASS_MAIL_FROM', 'Sender of every mail.', parseText(320), 'Underpass <no-reply@underpass.localhost>'),
  },
  'Registration and operator': {
    operatorEmail: setting(
      'UNDERPASS_OPERATOR_EMAIL',
      'First operator, made on first start.',
      parseMailAddress,
      'operator@underpass.localhost',
    ),
    securityContact: optional(
      'UNDERPASS_SECURITY_CONTACT',
      'Where security reports go, shown in security.txt: a mailto: or https: address.',
      parseUrlOrMail,
      'mailto: UNDERPASS_OPERATOR_EMAIL',
    ),
    invitationsApprove: setting(
      'UNDERPASS_INVITATIONS_APPROVE',
      'An owner’s invitation approves the account of the person whom it invites. The account can then use only projects that invite it.',
      parseSwitch,
      false,
      'false: an operator approves every account',
    ),
    operatorName: setting(
      'UNDERPASS_OPERATOR_NAME',
      'The company that runs this service, for the legal pages and the footer.',
      parseText(120),
      'Underpass Ltd',
    ),
    operatorAddress: optional('UNDERPASS_OPERATOR_ADDRESS', 'Its registered address, for the legal pages.', parseText(300)),
    operatorCompanyNumber: optional(
      'UNDERPASS_OPERATOR_COMPANY_NUMBER',
      'Its company number, for the legal pages.',
      parseText(40),
    ),
    turnstileSiteKey: optional(
      'UNDERPASS_TURNSTILE_SITE_KEY',
      'Cloudflare Turnstile site key; with the secret it replaces the built-in bot check.',
      parseText(256),
      'the built-in bot check',
    ),
    turnstileSecret: secret('UNDERPASS_TURNSTILE_SECRET', 'Cloudflare Turnstile secret.', parseText(256)),
    turnstileUrl: setting(
      'UNDERPASS_TURNSTILE_URL',
      'Address that checks Turnstile answers.',
      parseUrl('https', 'http'),
      'https://challenges.cloudflare.com/turnstile/v0/siteverify',
    ),
    subscriptionLookupUrl: optional(
      'UNDERPASS_SUBSCRIPTION_LOOKUP_URL',
      'URL that the server asks with ?email= whether a registration has an active subscription.',
      parseUrl('https', 'http'),
    ),
    subscriptionLookupToken: secret(
      'UNDERPASS_SUBSCRIPTION_LOOKUP_TOKEN',
      'Bearer token for the subscription lookup.',
      parseText(4096),
    ),
    subscriptionWebhookSecret: secret(
      'UNDERPASS_SUBSCRIPTION_WEBHOOK_SECRET',
      'Signs the webhook that reports changed subscriptions.',
      parseSecret,
      'the webhook is off',
    ),
    usageWebhookUrl: optional(
      'UNDERPASS_USAGE_WEBHOOK_URL',
      'URL of a billing system that gets what each project used in each hour.',
      parseUrl('https', 'http'),
    ),
    usageWebhookSecret: secret(
      'UNDERPASS_USAGE_WEBHOOK_SECRET',
      'Signs what the billing system gets (Standard Webhooks): whsec_ and 24 to 64 bytes in Base64.',
      parseWebhookSecret,
    ),
  },
  'Region and edge': {
    region: setting(
      'UNDERPASS_REGION',
      'Region that this edge serves; in role all also the region made on first start.',
      parseLabel,
      'local',
    ),
    regionDescription: setting(
      'UNDERPASS_REGION_DESCRIPTION',
      'Name of that first region in the dashboard.',
      parseText(120),
      'This machine',
    ),
    dataPlaneHost: setting(
      'UNDERPASS_DATA_PLANE_HOST',
      'Host that clients of this region dial, and that CNAME records point at.',
      parseDomainName,
      'local.localhost',
    ),
    wildcardDomain: setting(
      'UNDERPASS_WILDCARD_DOMAIN',
      'Domain under which that first region generates names.',
      parseDomainName,
      'tunnels.localhost',
    ),
    tcpPorts: optional(
      'UNDERPASS_TCP_PORTS',
      'Public ports that the edge may open for tcp tunnels, such as 20000-20099. In role all, also the range of that first region; another region gets its range on the operator page Regions. Without it there are no tcp tunnels.',
      parsePorts,
    ),
    edgeConsole: setting(
      'UNDERPASS_EDGE_CONSOLE',
      "In role all: the edge also serves the dashboard, on the edge's ports, under the host of UNDERPASS_ORIGIN. No other proxy is needed.",
      parseSwitch,
      ownsOrigin,
      'true where UNDERPASS_ORIGIN is https on the port of the edge and UNDERPASS_TRUSTED_PROXIES is empty',
    ),
    controlUrl: optional('UNDERPASS_CONTROL_URL', 'Where an edge finds control. Needed in role edge.', parseUrl('https', 'http')),
    edgeKey: secret(
      'UNDERPASS_EDGE_KEY',
      'Key that control gave to this region (underpass-server regions key). Needed in role edge.',
      parseSecret,
    ),
    edgeId: optional(
      'UNDERPASS_EDGE_ID',
      'Name of this edge among those of its region.',
      parseLabel,
      'made on first start and kept in UNDERPASS_HOME',
    ),
    edgeWorkers: setting(
      'UNDERPASS_EDGE_WORKERS',
      'Processes of the edge; 0 means one for each core.',
      parseWhole(0, 256),
      (env) => (isProduction(env) ? 0 : 1),
      '0 in production, else 1',
    ),
    edgeConnections: optional(
      'UNDERPASS_EDGE_CONNECTIONS',
      'Connections that each process of the edge holds at once on its public ports; the last tenth is for clients.',
      parseWhole(100, 10_000_000),
      'what four fifths of its file descriptors and half of its share of the memory allow',
    ),
    edgeConnectionsPerAddress: optional(
      'UNDERPASS_EDGE_CONNECTIONS_PER_ADDRESS',
      'How many of these connections one IPv4 address or one IPv6 /64 may have.',
      parseWhole(10, 10_000_000),
      '2000, or a quarter of UNDERPASS_EDGE_CONNECTIONS where that is less',
    ),
    accessLog: optional(
      'UNDERPASS_ACCESS_LOG',
      'File where the edge writes a line for each request of a visitor: an absolute path, or stdout.',
      parseLogPath,
      'no access log',
    ),
    accessLogFormat: setting(
      'UNDERPASS_ACCESS_LOG_FORMAT',
      'Format of these lines: that of nginx and Apache, or the same with the host and the port in front.',
      parseOneOf(...accessFormats),
      (): AccessFormat => 'combined',
      'combined',
    ),
    otlpUrl: optional(
      'UNDERPASS_OTLP_URL',
      'Base URL of an OpenTelemetry collector (OTLP over HTTP) that gets the figures of this edge’s tunnels.',
      parseOtlpUrl,
      'nothing is exported',
    ),
    otlpHeaders: secret(
      'UNDERPASS_OTLP_HEADERS',
      'Headers for the collector, such as a token: name=value, several separated by commas.',
      parseHeaders,
    ),
    otlpRequests: setting(
      'UNDERPASS_OTLP_REQUESTS',
      'Send the collector a record of each request of a visitor too, with the visitor’s address.',
      parseSwitch,
      false,
    ),
    answerSeconds: setting(
      'UNDERPASS_ANSWER_SECONDS',
      'How long a service behind a tunnel may take to begin its answer. After that the visitor gets 504.',
      parseWhole(1, 3600),
      120,
    ),
    congestion: setting(
      'UNDERPASS_CONGESTION',
      'Congestion control of connections: BBR on long paths where the kernel offers it, and not on short ones (path), or always the default of the system (system).',
      parseOneOf('path', 'system'),
      'path',
    ),
    drainSeconds: setting(
      'UNDERPASS_DRAIN_SECONDS',
      'How long a stop waits for open requests and connections of visitors, then cuts them.',
      parseWhole(0, 3600),
      (env) => (isProduction(env) ? 45 : 10),
      '45 in production, else 10',
    ),
    trustedBalancers: setting<readonly string[]>(
      'UNDERPASS_TRUSTED_BALANCERS',
      'Load balancers in front of the edge that send a PROXY protocol header.',
      list(parseRange),
      [],
      'none',
    ),
    hopPort: optional(
      'UNDERPASS_HOP_PORT',
      'Port where edges of one region hand visitors to each other.',
      parsePort,
      'no hand-over between edges',
    ),
    hopAddress: optional('UNDERPASS_HOP_ADDRESS', 'host:port at which the other edges reach that port.', parseHostPort),
    hopSecret: secret(
      'UNDERPASS_HOP_SECRET',
      'Secret that only the edges of this region share; they authenticate to each other with it.',
      parseSecret,
      'UNDERPASS_EDGE_KEY',
    ),
  },
  Certificates: {
    certificates: optional(
      'UNDERPASS_CERTIFICATES',
      'Folder of certificates that you supply: NAME.crt (the chain, PEM) beside NAME.key. The server reads them again when they change.',
      parseText(4096),
    ),
    acmeDirectory: optional(
      'UNDERPASS_ACME_DIRECTORY',
      'ACME directory that issues certificates, for example https://acme-v02.api.letsencrypt.org/directory.',
      parseUrl('https', 'http'),
      'a local authority that this machine makes',
    ),
    acmeEmail: optional('UNDERPASS_ACME_EMAIL', 'Contact for the ACME account.', parseMailAddress),
    acmeEabKeyId: optional(
      'UNDERPASS_ACME_EAB_KEY_ID',
      'Key id for external account binding, if the authority requires one (ZeroSSL, Google).',
      parseText(512),
    ),
    acmeEabHmac: secret('UNDERPASS_ACME_EAB_HMAC', 'The HMAC key that belongs to that key id, base64url.', parseBase64Key),
    acmeCaFile: optional(
      'UNDERPASS_ACME_CA_FILE',
      'Extra authority (PEM) to trust when talking to the ACME directory.',
      parseText(4096),
    ),
    acmeOrders: setting(
      'UNDERPASS_ACME_ORDERS',
      "Most certificates to order in three hours for all projects together, below what the authority allows your account: Let's Encrypt allows 300, and more on request; an authority of your own may have no limit.",
      // A week of them is read in each pass.
      parseWhole(1, 2_400),
      240,
    ),
    acmeOrdersPerProject: setting(
      'UNDERPASS_ACME_ORDERS_PER_PROJECT',
      'Most certificates to order in a day for one project; twice as many for all projects of one person.',
      parseWhole(1, 19_200),
      40,
    ),
    rfc2136Server: optional(
      'UNDERPASS_RFC2136_SERVER',
      'DNS server that accepts RFC 2136 updates, for wildcard certificates by DNS-01.',
      parseAddress(53),
    ),
    rfc2136Zone: optional('UNDERPASS_RFC2136_ZONE', 'Zone that those updates change.', parseHostName),
    rfc2136KeyName: optional('UNDERPASS_RFC2136_KEY_NAME', 'Name of the TSIG key (hmac-sha256).', parseHostName),
    rfc2136Key: secret('UNDERPASS_RFC2136_KEY', 'The TSIG key, base64.', parseBase64Key),
    acmeChallengeZone: optional(
      'UNDERPASS_ACME_CHALLENGE_ZONE',
      'Zone to which users lead `_acme-challenge` of their wildcards by a CNAME: that of the RFC 2136 settings or one below, or any that the hook changes.',
      parseHostName,
    ),
    acmeDnsHook: optional(
      'UNDERPASS_ACME_DNS_HOOK',
      'Absolute path of a program that changes TXT records there instead of RFC 2136: it gets `set` or `delete`, name and value.',
      parseProgram,
    ),
  },
  DNS: {
    dnsServers: setting<readonly { address: string; port: number }[]>(
      'UNDERPASS_DNS_SERVERS',
      'DNS servers that verify domains, as addresses with optional ports.',
      list(parseAddress(53)),
      [],
      'those of the system',
    ),
  },
};

export const settingTable = {
  ...settingGroups.General,
  ...settingGroups.Addresses,
  ...settingGroups.State,
  ...settingGroups.Mail,
  ...settingGroups['Registration and operator'],
  ...settingGroups['Region and edge'],
  ...settingGroups.Certificates,
  ...settingGroups.DNS,
};

type Table = typeof settingTable;
export type Settings = { readonly [K in keyof Table]: ReturnType<Table[K]['fallback']> } & {
  /** Names of the settings that the environment sets. */
  readonly given: ReadonlySet<string>;
};
type SettingsResult =
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

/** What each problem is, in words, and whether the settings have it. */
type Requirements = Readonly<Record<string, (settings: Settings) => boolean>>;

const rfc2136Keys = ['rfc2136Server', 'rfc2136Zone', 'rfc2136KeyName', 'rfc2136Key'] as const;
const countSet = (settings: Settings, keys: readonly (keyof Settings)[]): number =>
  keys.filter((key) => settings[key] !== undefined).length;

const ownPorts = (s: Settings): readonly number[] =>
  [s.port, s.edgeHttpsPort, s.edgeHttpPort, s.metricsPort, s.hopPort].flatMap((port) => port ?? []);

const requirements: Requirements = {
  'UNDERPASS_CONTROL_URL is needed in role edge': (s) => s.role === 'edge' && s.controlUrl === undefined,
  'UNDERPASS_EDGE_KEY is needed in role edge': (s) => s.role === 'edge' && s.edgeKey === undefined,
  'DATABASE_URL is needed when UNDERPASS_REPLICAS is over 1: the embedded database serves one process': (s) =>
    s.replicas > 1 && s.databaseUrl === undefined,
  'NATS_URL is needed when UNDERPASS_REPLICAS is over 1: the processes must hear of each other': (s) =>
    s.replicas > 1 && s.natsUrl === undefined,
  'UNDERPASS_MASTER_KEY is needed when UNDERPASS_REPLICAS is over 1: the processes must share it': (s) =>
    s.replicas > 1 && s.masterKey === undefined,
  'UNDERPASS_TCP_PORTS must name none of the ports on which this server listens for something else': (s) =>
    ownPorts(s).some((port) => s.tcpPorts !== undefined && isInRange(s.tcpPorts, port)),
  'UNDERPASS_TURNSTILE_SITE_KEY and UNDERPASS_TURNSTILE_SECRET must be set together': (s) =>
    countSet(s, ['turnstileSiteKey', 'turnstileSecret']) === 1,
  'UNDERPASS_USAGE_WEBHOOK_URL and UNDERPASS_USAGE_WEBHOOK_SECRET must be set together': (s) =>
    countSet(s, ['usageWebhookUrl', 'usageWebhookSecret']) === 1,
  'UNDERPASS_ACME_EAB_KEY_ID and UNDERPASS_ACME_EAB_HMAC must be set together': (s) =>
    countSet(s, ['acmeEabKeyId', 'acmeEabHmac']) === 1,
  'UNDERPASS_ORIGIN (or UNDERPASS_PORT if that decides it) has a port that browsers refuse to open': (s) =>
    runsControl(s) && !isBrowserPort(Number(new URL(s.origin).port)),
  'UNDERPASS_PUBLIC_HTTPS_PORT (or UNDERPASS_EDGE_HTTPS_PORT if that decides it) is a port that browsers refuse to open': (s) =>
    !isBrowserPort(s.publicHttpsPort),
  'UNDERPASS_EDGE_CONSOLE is for role all: an edge elsewhere has no dashboard beside it': (s) =>
    s.edgeConsole && s.role !== 'all',
  'UNDERPASS_EDGE_CONSOLE needs an https address in UNDERPASS_ORIGIN': (s) => s.edgeConsole && !s.origin.startsWith('https:'),
  'UNDERPASS_EDGE_CONSOLE needs two names: the host of UNDERPASS_ORIGIN cannot be UNDERPASS_DATA_PLANE_HOST': (s) =>
    s.edgeConsole && originHost(s) === s.dataPlaneHost,
  'UNDERPASS_HOP_SECRET is needed with UNDERPASS_HOP_PORT where there is no UNDERPASS_EDGE_KEY': (s) =>
    s.hopPort !== undefined && s.hopSecret === undefined && s.edgeKey === undefined,
  'UNDERPASS_HOP_PORT and UNDERPASS_HOP_ADDRESS must be set together': (s) => countSet(s, ['hopPort', 'hopAddress']) === 1,
  'UNDERPASS_RFC2136_SERVER, UNDERPASS_RFC2136_ZONE, UNDERPASS_RFC2136_KEY_NAME and UNDERPASS_RFC2136_KEY must be set together': (
    s,
  ) => ![0, 4].includes(countSet(s, rfc2136Keys)),
  'UNDERPASS_ACME_CHALLENGE_ZONE needs UNDERPASS_ACME_DIRECTORY: only its authority looks for proofs there': (s) =>
    s.acmeChallengeZone !== undefined && s.acmeDirectory === undefined,
  'UNDERPASS_ACME_DNS_HOOK needs UNDERPASS_ACME_CHALLENGE_ZONE: it changes records there alone': (s) =>
    s.acmeDnsHook !== undefined && s.acmeChallengeZone === undefined,
  'UNDERPASS_ACME_CHALLENGE_ZONE needs UNDERPASS_ACME_DNS_HOOK, or a UNDERPASS_RFC2136_ZONE that it is or lies under': ({
    acmeChallengeZone: zone,
    acmeDnsHook: hook,
    rfc2136Zone: updated,
  }) => zone !== undefined && hook === undefined && (updated === undefined || !isSameOrUnder(zone, updated)),
};

/** Warnings, which do not prevent a start. The bot check needs Web Crypto, which browsers offer only over https and on localhost.
 */
const doubts: Requirements = {
  'UNDERPASS_ORIGIN is http and not on this machine: browsers run no bot check there, so that nobody can ask for a sign-in link':
    (s) => runsControl(s) && s.origin.startsWith('http:') && !isLoopbackHost(originHost(s)) && s.turnstileSecret === undefined,
};

const settingsThatDisagree = (settings: Settings): string[] => problemsOf(requirements, settings);
const problemsOf = (rules: Requirements, settings: Settings): string[] =>
  Object.keys(rules).filter((problem) => rules[problem]!(settings));

const runsControl = (s: Settings): boolean => s.role !== 'edge';
const originHost = (s: Settings): string => new URL(s.origin).hostname;

/** Defaults that are convenient on a laptop, each refused in production with its name. */
const productionRules: Requirements = {
  'SMTP_URL must be set in production: without it mail stays in a folder': (s) => runsControl(s) && s.smtpUrl === undefined,
  'UNDERPASS_ORIGIN must be a public https address in production': (s) =>
    runsControl(s) && (isLocalhostName(originHost(s)) || !s.origin.startsWith('https:')),
  'UNDERPASS_OPERATOR_EMAIL must be a real mailbox in production': (s) => runsControl(s) && s.operatorEmail.endsWith('localhost'),
  'UNDERPASS_MAIL_FROM must be a real sender in production': (s) => runsControl(s) && /localhost>?$/.test(s.mailFrom),
  'UNDERPASS_MASTER_KEY must be set in production, or UNDERPASS_MASTER_KEY_FILE: keep it apart from the database': (s) =>
    runsControl(s) && s.masterKey === undefined,
  'UNDERPASS_ACME_DIRECTORY or UNDERPASS_CERTIFICATES must be set in production: browsers do not trust the local authority': (
    s,
  ) => runsControl(s) && s.acmeDirectory === undefined && s.certificates === undefined,
  'UNDERPASS_DATA_PLANE_HOST must be a public name in production': (s) =>
    s.role !== 'control' && isLocalhostName(s.dataPlaneHost),
  'UNDERPASS_WILDCARD_DOMAIN must be a public name in production': (s) => s.role === 'all' && isLocalhostName(s.wildcardDomain),
  'UNDERPASS_CONTROL_URL must start with https:// in production': (s) =>
    s.role === 'edge' && s.controlUrl?.startsWith('http:') === true,
};

const laptopDefaults = (settings: Settings): string[] => problemsOf(productionRules, settings);
