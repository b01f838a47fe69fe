// Every number that bounds the product and belongs to no single rule (spec 9): sizes, durations, quotas and rate limits.
// A bound of one rule is in that rule's file.

/** What the first screen of a project holds at most. */
export const overviewLimits = {
  attention: 8,
  tunnels: 10,
  changes: 8,
  /** Rows of each kind of fact that are looked at. */
  factRows: 100,
  /** A project with more tunnels than this is not new. */
  newProjectTunnels: 3,
} as const;

/** What the operators' first screen shows. */
export const serviceOverviewLimits = { attention: 12, regions: 24, edgesOfRegion: 8 } as const;

/** Alerts of a project. */
export const alertLimits = {
  /** How long a tunnel may be down before its people hear of it. */
  waitSeconds: 120,
  waitSecondsLeast: 30,
  waitSecondsMost: 86_400,
  /** The time after a mail in which all news waits for one more mail. */
  digestMinutes: 15,
  /** Lines of one mail; it counts the rest. */
  mailLines: 50,
  /** What the page shows: all open ones up to this number, and as many of the others. */
  shown: 100,
  keptDays: 30,
  /** How long the link in a mail can end the mails. Old mails are deleted or forgotten. */
  unsubscribeDays: 90,
} as const;

export const limits = {
  projectNameChars: 63,
  apiTokenNameChars: 63,
  passkeyNameChars: 63,
  reachTicketsPerTunnel: 100,
  passkeysPerUser: 20,
  recoveryCodes: 10,
  /** Hard bounds that no project's quota exceeds: request bodies and feed messages are sized for them. */
  rulesPerGroup: 1000,
  ingressDomainsPerTunnel: 100,
  auditPageRows: 50,
  operatorPageRows: 50,
  apiTokenDays: 365,
  /** A CLI token lives this long after its last use. */
  cliTokenDays: 90,
} as const;

export const durations = {
  copyConfirmationMs: 1500,
  restartDelaySeconds: 5,
  loginLinkMinutes: 15,
  invitationDays: 7,
  deviceCodeMinutes: 10,
  /** A visitor's sign-in that is under way. */
  accessCodeMinutes: 10,
  devicePollSeconds: 5,
  /** How long calls that need a recent proof stay open after a sign-in or another proof. */
  proofMinutes: 10,
  /** How long the browser's question for a passkey may take. */
  passkeyMinutes: 5,
  sessionIdleDays: 14,
  sessionMaxDays: 90,
  /** An operator's session can do more, so it lives shorter. */
  operatorSessionIdleHours: 12,
  operatorSessionMaxDays: 7,
  /** How long a browser is recognised after a sign-in with it. 400 days is the longest that browsers keep a cookie. */
  knownBrowserDays: 400,
  /** How long a member's pass to a private tunnel opens new connections. */
  reachPassMinutes: 10,
  /** How long the old token still opens carriers after a rotation. */
  tokenOverlapHours: 24,
  /** A released generated name is not given to another tunnel for this long. */
  generatedNameRestDays: 90,
  /** The public port of a deleted tunnel is not given to another project for this long. */
  portRestDays: 7,
  /** A quick tunnel is deleted this long after its last client was connected. */
  quickLeaseMinutes: 5,
  /** A program that registered itself for an access policy is forgotten this long after its last use. */
  accessClientDays: 180,
  /** A client is connected while its last data-path round trip is at most this old. */
  provenWithinMs: 15_000,
} as const;

/** How long control keeps the records that the privacy policy names. The policy's text shows these numbers. */
export const retentionDays = {
  auditLog: 365,
  accessSignIn: 30,
  /** Thirteen months: a bill can be compared with that of a year before. */
  usage: 396,
  /** Registrations that were not approved. */
  registration: 365,
  closedAbuseReport: 730,
} as const;

/** Largest request bodies that control reads. */
export const bodyMaxBytes = {
  json: 256 * 1024,
  form: 32 * 1024,
  webhook: 64 * 1024,
  csv: 5 * 1024 * 1024,
} as const;

/** Payloads need three levels (an object in a list in an object); the rest is headroom. */
export const jsonMaxDepth = 8;

/** The default of a project; the most that the operator can allow; and what it counts. */
const quotas = {
  tunnels: { standard: 100, highest: 10_000, noun: 'tunnels' },
  domains: { standard: 100, highest: 10_000, noun: 'domains' },
  securityGroups: { standard: 100, highest: 1_000, noun: 'security groups' },
  accessPolicies: { standard: 100, highest: 1_000, noun: 'access policies' },
  rulesPerGroup: { standard: 500, highest: limits.rulesPerGroup, noun: 'rules in a security group' },
  ingressDomainsPerTunnel: { standard: 50, highest: limits.ingressDomainsPerTunnel, noun: 'ingress domains on a tunnel' },
  members: { standard: 100, highest: 10_000, noun: 'members and invitations' },
  apiTokens: { standard: 50, highest: 1_000, noun: 'API tokens' },
  /** Bytes to and from visitors. This is more than any project uses, so it is no limit. */
  gigabytesPerMonth: { standard: 1_000_000, highest: 1_000_000, noun: 'gigabytes of traffic in a month' },
  /** Public ports. Those that rest leave room for a tunnel, which then gets one of them. */
  tcpPorts: { standard: 10, highest: 10_000, noun: 'public ports' },
};

export type QuotaName = keyof typeof quotas;
export type ProjectQuotas = Readonly<Record<QuotaName, number>>;

const each = <Value>(of: (quota: (typeof quotas)[QuotaName]) => Value) =>
  Object.fromEntries(Object.entries(quotas).map(([name, quota]) => [name, of(quota)])) as Readonly<Record<QuotaName, Value>>;

/** Defaults of a project. The operator can set others. */
export const projectQuotas: ProjectQuotas = each(({ standard }) => standard);
/** The most that the operator can allow: more would not fit into one request or feed message. */
export const highestQuotas: ProjectQuotas = each(({ highest }) => highest);
export const quotaNouns: Readonly<Record<QuotaName, string>> = each(({ noun }) => noun);

/** The text of the refusal, or null while the quota has room. `count` includes what is being added. */
export function quotaMessage(name: QuotaName, count: number, quotas: ProjectQuotas = projectQuotas): string | null {
  const max = quotas[name];
  return count <= max
    ? null
    : `This project may have at most ${max} ${quotaNouns[name]}. Delete some, or ask the operator for more.`;
}

export interface RateLimit {
  readonly points: number;
  readonly windowSeconds: number;
  /** The body of the 429. Retry-After says when to try again. */
  readonly sentence: string;
}

export type RateLimitName = keyof typeof rateLimits;

const linkSentence = 'Too many login links were requested. Please try again later.';
const deviceSentence = 'Too many device codes were requested. Please try again later.';
const requestSentence = 'Too many requests. Please slow down.';
const changeSentence = 'Too many changes. Please slow down.';
const dnsSentence = 'Too many DNS lookups. Please try again in a minute.';
const reportSentence = 'Too many reports. Please write to the operator.';
const invitationSentence = 'Too many invitations. Please try again tomorrow.';
const codeSentence = 'Too many codes were requested. Please try again later.';
const passwordSentence = 'Too many wrong passwords came from your network. Please try again later, or from another network.';
const registerSentence = 'Too many registrations. Please try again later.';
const programSentence = 'Too many programs were registered. Please try again later.';
const questionSentence = 'Too many programs ask for access. Please try again later.';

const hourSeconds = 3600;
const daySeconds = 24 * hourSeconds;
export const hourMs: number = hourSeconds * 1000;
export const dayMs: number = 24 * hourMs;

type Shared<Name extends string> = Readonly<Record<Name | `${Name}Overall` | `${Name}PerNetwork`, RateLimit>>;

interface Shares {
  /** Calls of an address in an hour. */
  readonly address: number;
  /** Calls of all addresses together. */
  readonly overall: Omit<RateLimit, 'sentence'>;
  /** Calls of a network in an hour once `overall` is used up: a flood locks out no other network. */
  readonly network: number;
}

/** Three limits of one call, which `takeShare` counts. */
function sharedLimits<Name extends string>(name: Name, sentence: string, { address, overall, network }: Shares): Shared<Name> {
  const limits: Readonly<Record<string, RateLimit>> = {
    [name]: { points: address, windowSeconds: hourSeconds, sentence },
    [`${name}Overall`]: { ...overall, sentence },
    [`${name}PerNetwork`]: { points: network, windowSeconds: hourSeconds, sentence },
  };
  return limits as Shared<Name>;
}

const inMinute = (points: number) => ({ points, windowSeconds: 60 });

/** Enough for people, too little for scripts. Per address unless the name says otherwise. */
export const rateLimits = {
  ...sharedLimits('loginLink', linkSentence, { address: 20, overall: inMinute(300), network: 5 }),
  /**
   * The limit from which no mail is sent, while the answer is the same: nobody can lock a person out. The window ends before the
   * links of its mails do, so the person can always use the newest one.
   */
  loginMailPerEmail: { points: 5, windowSeconds: 600, sentence: linkSentence },
  /** Only links that do not work: a person with a right one is never kept out by others at the same address. */
  wrongLink: { points: 30, windowSeconds: 900, sentence: 'Too many login attempts. Please try again later.' },
  /** Only the person's own sessions can use it up. */
  proofPerUser: { points: 10, windowSeconds: 900, sentence: linkSentence },
  passkey: { points: 60, windowSeconds: 900, sentence: 'Too many attempts with passkeys. Please try again later.' },
  /** Only the person's own sessions can use it up. */
  recoveryCodePerUser: { points: 10, windowSeconds: 900, sentence: 'Too many recovery codes. Please try again later.' },
  ...sharedLimits('register', registerSentence, { address: 10, overall: inMinute(200), network: 5 }),
  /** Each may read a year of the audit log. */
  accountExportPerUser: { points: 10, windowSeconds: hourSeconds, sentence: 'Too many downloads. Please try again later.' },
  botCheck: { points: 60, windowSeconds: 600, sentence: 'Too many bot checks were requested. Please try again later.' },
  /** Each stores a row for a day, and costs the caller no proof of work. */
  ...sharedLimits('deviceStart', deviceSentence, { address: 20, overall: inMinute(100), network: 20 }),
  devicePoll: { points: 300, windowSeconds: 600, sentence: 'Polled too often. Please wait between polls.' },
  deviceCodePerUser: { points: 20, windowSeconds: 900, sentence: 'Too many device codes were tried. Please try again later.' },
  /** Each stores a row for a day. A program registers once for each person and server. */
  ...sharedLimits('programRegistration', programSentence, { address: 20, overall: inMinute(100), network: 20 }),
  /** Each may fetch a document. The share counts those that store a row for a quarter of an hour. */
  ...sharedLimits('programQuestion', questionSentence, { address: 360, overall: inMinute(300), network: 20 }),
  /** Programs of one office share an address, and each renews its token once an hour. */
  programToken: { points: 600, windowSeconds: 600, sentence: requestSentence },
  /** Mails that tell of new tokens and owners, by person or project. Beyond it the change is made without a mail. */
  noticePerSubject: { points: 20, windowSeconds: hourSeconds, sentence: '' },
  webhookAgainPerProject: { points: 60, windowSeconds: 600, sentence: 'Too many repetitions. Please try again later.' },
  webhookTestPerProject: { points: 10, windowSeconds: 600, sentence: 'Too many tests. Please try again later.' },
  /** Refusals in the audit log, by caller; sign-ins that fail for an unknown person, together. Beyond it they are not logged. */
  refusalInAudit: { points: 20, windowSeconds: hourSeconds, sentence: '' },
  /** Each sends a mail to the operator. Beyond the limit for all a report waits in the operator's list, a few from each network. */
  ...sharedLimits('abuseReport', reportSentence, {
    address: 5,
    overall: { points: 200, windowSeconds: hourSeconds },
    network: 5,
  }),
  /** Only of callers that are not signed in. */
  apiPerAddress: { points: 3000, windowSeconds: 60, sentence: requestSentence },
  // A credential is a session or an API token. Per user, sessions and tokens count apart, and each has more than one credential
  // may use: so no token stops the dashboard, or another token of its maker.
  apiPerCredential: { points: 1200, windowSeconds: 60, sentence: requestSentence },
  apiPerUser: { points: 2400, windowSeconds: 60, sentence: requestSentence },
  /** Calls that the caller may not make. */
  refusedPerCredential: { points: 300, windowSeconds: 60, sentence: 'Too many refused requests. Please slow down.' },
  changePerCredential: { points: 300, windowSeconds: 60, sentence: changeSentence },
  changePerUser: { points: 1200, windowSeconds: 60, sentence: changeSentence },
  /** A name stays blocked for 90 days after its tunnel, and there are only some 60,000 pairs of words. */
  generatedNamePerUser: {
    points: 500,
    windowSeconds: daySeconds,
    sentence: 'Too many generated names. Please use a domain of your own, or try again tomorrow.',
  },
  /** A chosen name stays with its project for 90 days, so this bounds how many one person can keep from others. */
  chosenNamePerUser: {
    points: 20,
    windowSeconds: daySeconds,
    sentence: 'Too many new names today. Leave out --name, or use a domain of your own.',
  },
  /** Only fresh ones: one that rests with the project may be used again. It bounds how many of a region one person can use up. */
  publicPortPerUser: {
    points: 20,
    windowSeconds: daySeconds,
    sentence: 'Too many new public ports today. Use the name of a deleted tunnel to get its port, or try again tomorrow.',
  },
  /** Look-ups and verifications. */
  dnsPerCredential: { points: 300, windowSeconds: 60, sentence: dnsSentence },
  dnsPerUser: { points: 600, windowSeconds: 60, sentence: dnsSentence },
  /** Look-ups under domains that the person has added and nobody has verified: enough to set them up, too few to list names. */
  newDomainDnsPerUser: {
    points: 500,
    windowSeconds: daySeconds,
    sentence: 'Too many DNS lookups. Please verify the domain first.',
  },
  // Visitors of tunnels with an access policy (control/visitors/sign-in).
  accessPage: { points: 600, windowSeconds: 60, sentence: requestSentence },
  /** The share of a network is for each policy, and counts once that of the policy or of all is used up. */
  ...sharedLimits('accessCode', codeSentence, { address: 20, overall: inMinute(300), network: 5 }),
  accessCodePerPolicy: { points: 120, windowSeconds: 60, sentence: codeSentence },
  /** The limits from which no mail is sent, while the answer is the same. */
  accessMailPerEmailAndNetwork: { points: 5, windowSeconds: 600, sentence: codeSentence },
  accessMailPerEmail: { points: 30, windowSeconds: hourSeconds, sentence: codeSentence },
  /** Only codes that are wrong. */
  accessCodeTry: { points: 60, windowSeconds: 900, sentence: 'Too many codes were tried. Please try again later.' },
  // Wrong passwords of one policy, by address: a person who mistypes waits a minute, a script a day.
  accessPasswordSoon: { points: 5, windowSeconds: 60, sentence: passwordSentence },
  accessPassword: { points: 20, windowSeconds: 900, sentence: passwordSentence },
  accessPasswordDay: { points: 60, windowSeconds: daySeconds, sentence: passwordSentence },
  accessPasswordPerPolicy: { points: 300, windowSeconds: 900, sentence: passwordSentence },
  /** What each network gets for itself once `accessPasswordPerPolicy` is used up. */
  accessPasswordPerNetwork: { points: 5, windowSeconds: 900, sentence: passwordSentence },
  /** Wrong ones of a browser that has entered the right one before: as many as an address has in a day, apart from those. */
  accessPasswordKnown: { points: 60, windowSeconds: daySeconds, sentence: passwordSentence },
  /** Only links that are unknown. */
  accessLinkTry: { points: 60, windowSeconds: 900, sentence: 'Too many links were tried. Please try again later.' },
  accessProvider: { points: 60, windowSeconds: 900, sentence: requestSentence },
  accessProviderPerPolicy: { points: 600, windowSeconds: 60, sentence: requestSentence },
  /** What each network gets for itself once `accessProviderPerPolicy` is used up. */
  accessProviderPerNetwork: { points: 20, windowSeconds: 900, sentence: requestSentence },
  /** Refused sign-ins in the sign-in log, by policy. Beyond it they are not logged. */
  accessRefusalInLog: { points: 200, windowSeconds: hourSeconds, sentence: '' },
  // Each sends a mail. Both count over all projects of the person who invites, and one that was deleted still counts: as many in
  // a day as a project may have members, and a few to one mailbox. They count per inviter, so nobody can use up what others have.
  invitationPerUser: { points: 100, windowSeconds: daySeconds, sentence: invitationSentence },
  invitationPerEmail: { points: 5, windowSeconds: daySeconds, sentence: invitationSentence },
} as const satisfies Readonly<Record<string, RateLimit>>;
