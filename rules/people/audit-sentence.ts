// The audit log in sentences: one table from each action to what its row says. Control may write only actions of this table, so no
// row is without a sentence.

import { deletedUser } from './account.ts';

interface AuditFacts {
  /** An e-mail, or a word of `actorNames`. */
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly detail: AuditDetail;
}

/** What sentences look for. Rows of other versions may say it otherwise. */
type DetailName =
  | 'accessPolicy'
  | 'active'
  | 'added'
  | 'beginsTraces'
  | 'apiToken'
  | 'by'
  | 'email'
  | 'fallback'
  | 'from'
  | 'link'
  | 'name'
  | 'operator'
  | 'overlap'
  | 'program'
  | 'proxyProtocol'
  | 'reason'
  | 'removed'
  | 'required'
  | 'role'
  | 'securityGroup'
  | 'session'
  | 'site'
  | 'suspended'
  | 'ticket'
  | 'to'
  | 'token'
  | 'visitorLog'
  | 'visitorLogQuery'
  | 'waitSeconds'
  | 'why';
type AuditDetail = Readonly<Partial<Record<DetailName, unknown>>>;

type Phrase = (about: Pick<AuditFacts, 'target' | 'detail'>) => string;

const named = (text: string): string => `‘${text}’`;

/** Longer lists end in a number. */
const listedMost = 2;

function listed(names: readonly string[]): string {
  const more = names.length - listedMost;
  if (more > 0) return `${names.slice(0, listedMost).join(', ')} and ${more} more`;
  return names.join(' and ');
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];

/** A phrase that ends in the name of what changed. */
const about =
  (words: string): Phrase =>
  ({ target }) =>
    `${words} ${named(target)}`;

/** The same for names that stand out without quotes: domains and e-mail addresses. */
const plainly =
  (words: string): Phrase =>
  ({ target }) =>
    `${words} ${target}`;

const suspendedOr =
  (noun: string, otherwise: string): Phrase =>
  ({ target, detail: { suspended } }) =>
    typeof suspended === 'boolean'
      ? `${suspended ? 'suspended' : 'resumed'} the ${noun} ${target}`
      : `changed the ${otherwise} ${target}`;

const ofPolicy =
  (verb: string, kind: 'link' | 'token'): Phrase =>
  ({ target, detail }) =>
    `${verb} the ${kind === 'link' ? 'share link' : 'machine token'} ${named(textOf(detail[kind]))} of the access policy ${named(target)}`;

/** The clauses about what changed, without the thing that it belongs to. */
function changesOf({ added, removed }: AuditDetail): readonly string[] {
  const [more, fewer] = [textsOf(added), textsOf(removed)];
  return [...(more.length > 0 ? [`added ${listed(more)}`] : []), ...(fewer.length > 0 ? [`removed ${listed(fewer)}`] : [])];
}

function assigned(value: unknown, noun: string): readonly string[] {
  if (typeof value !== 'string') return [];
  return [value === '' ? `no ${noun}` : `${noun} ${named(value)}`];
}

function visitorLogClauses({ visitorLog, visitorLogQuery }: AuditDetail): readonly string[] {
  const modes: Readonly<Record<string, string>> = {
    off: 'off',
    truncated: 'on with truncated addresses',
    full: 'on with whole addresses',
  };
  const mode = modes[textOf(visitorLog)];
  return [
    ...(mode === undefined ? [] : [`visitor log ${mode}`]),
    ...(typeof visitorLogQuery === 'boolean' ? [`visitor log ${visitorLogQuery ? 'with' : 'without'} queries`] : []),
  ];
}

function describeTunnelUpdate({ target, detail }: Parameters<Phrase>[0]): string {
  const [added, removed] = [textsOf(detail.added), textsOf(detail.removed)];
  const others = [
    ...assigned(detail.proxyProtocol, 'PROXY protocol'),
    ...assigned(detail.securityGroup, 'security group'),
    ...assigned(detail.accessPolicy, 'access policy'),
    ...visitorLogClauses(detail),
    ...(typeof detail.beginsTraces === 'boolean'
      ? [`${detail.beginsTraces ? 'a trace' : 'no trace'} for requests without one`]
      : []),
  ];
  const tunnel = `the tunnel ${named(target)}`;
  if (others.length === 0 && removed.length === 0 && added.length > 0)
    return `added the ${domainNoun(added)} ${listed(added)} to ${tunnel}`;
  if (others.length === 0 && added.length === 0 && removed.length > 0)
    return `removed the ${domainNoun(removed)} ${listed(removed)} from ${tunnel}`;
  return withClauses(`changed ${tunnel}`, [...changesOf(detail), ...others]);
}

const domainNoun = ({ length }: readonly unknown[]): string => (length === 1 ? 'domain' : 'domains');

const withClauses = (phrase: string, clauses: readonly string[]): string =>
  clauses.length === 0 ? phrase : `${phrase}: ${clauses.join(', ')}`;

/** `deleteTunnel` reads as `delete tunnel`. */
const spaced = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

export const auditPhrases = {
  'tunnel.create': about('created the tunnel'),
  'tunnel.update': describeTunnelUpdate,
  'tunnel.delete': ({ target, detail }) => {
    const reason = textOf(detail.reason);
    return `deleted the tunnel ${named(target)}${reason && `, because ${reason}`}`;
  },
  'tunnel.keep': about('decided to keep the quick tunnel'),
  'tunnel.rotate-token': ({ target, detail }) =>
    `made a new token for the tunnel ${named(target)}${detail.overlap === false ? ' and ended the old one at once' : ''}`,
  'tunnel.create-ticket': ({ target, detail }) =>
    `made the ticket ${named(textOf(detail.ticket))} for the tunnel ${named(target)}`,
  'tunnel.delete-ticket': ({ target, detail }) =>
    `revoked the ticket ${named(textOf(detail.ticket))} of the tunnel ${named(target)}`,
  'tunnel.suspend': about('suspended the tunnel'),
  'tunnel.resume': about('resumed the tunnel'),
  'certificate.set': ({ target }) => `gave a certificate for ${target}`,
  'certificate.change': ({ target, detail }) =>
    `chose ${detail.fallback === true ? 'an' : 'no'} authority’s certificate for ${target} after the project’s own ends`,
  'certificate.delete': ({ target }) => `removed the project’s certificate of ${target}`,
  'domain.create': plainly('added the domain'),
  'domain.verify': plainly('verified the domain'),
  'domain.delete': plainly('deleted the domain'),
  'domain.lost': ({ target }) => `no longer found the TXT record of ${target}, which is unverified now`,
  'security-group.create': about('created the security group'),
  'security-group.update': ({ target, detail }) => withClauses(`changed the security group ${named(target)}`, changesOf(detail)),
  'security-group.delete': about('deleted the security group'),
  'access-policy.create': about('created the access policy'),
  'access-policy.update': about('changed the access policy'),
  'access-policy.delete': about('deleted the access policy'),
  'access-policy.create-link': ofPolicy('created', 'link'),
  'access-policy.delete-link': ofPolicy('deleted', 'link'),
  'access-policy.create-token': ofPolicy('created', 'token'),
  'access-policy.delete-token': ofPolicy('deleted', 'token'),
  'access-policy.revoke-program': ({ target, detail }) =>
    `revoked the program ${named(textOf(detail.program) || 'unknown')} of the access policy ${named(target)}`,
  'access-policy.sign-out': ({ target, detail }) =>
    `signed ${textOf(detail.email) || 'everybody'} out of the access policy ${named(target)}`,
  'project.create': about('created the project'),
  'project.rename': ({ target, detail }) => `renamed the project from ${named(textOf(detail.from))} to ${named(target)}`,
  'project.change': ({ target, detail }) => suspendedOr('project', 'limits of the project')({ target: named(target), detail }),
  'project.delete': about('deleted the project'),
  'project.require-passkeys': ({ detail }) =>
    detail.required === false ? 'no longer requires passkeys of members' : 'now requires passkeys of members',
  'alert.change': ({ detail: { waitSeconds } }) =>
    `changed the waiting time of alerts${typeof waitSeconds === 'number' ? ` to ${waitSeconds} s` : ''}`,
  'alert-webhook.change': ({ detail }) => `changed the webhook of alerts${textOf(detail.site) && ` to ${textOf(detail.site)}`}`,
  'alert-webhook.rotate': () => 'made a new secret for the webhook of alerts',
  'alert-webhook.delete': () => 'deleted the webhook of alerts',
  'alert-webhook.disable': () => 'switched the webhook of alerts off, because it failed for three days',
  'member.change': ({ target, detail }) => {
    const [from, to] = [textOf(detail.from), textOf(detail.to)];
    return `changed the role of ${target}${from && ` from ${from}`}${to && ` to ${to}`}`;
  },
  'member.remove': plainly('removed the member'),
  'member.leave': () => 'left the project',
  'invitation.create': ({ target, detail }) => {
    const role = textOf(detail.role);
    return `invited ${target}${role && ` as ${role}`}`;
  },
  'invitation.delete': plainly('withdrew the invitation of'),
  'invitation.accept': ({ detail }) => {
    const role = textOf(detail.role);
    return `joined the project${role && ` as ${role}`}`;
  },
  'api-token.create': ({ target, detail }) =>
    detail.by === 'device' ? `signed in the terminal ${named(target)}` : `created the API token ${named(target)}`,
  'api-token.delete': ({ target, detail }) =>
    detail.by === 'logout' ? `signed out the terminal ${named(target)}` : `deleted the API token ${named(target)}`,
  'call.refuse': ({ target, detail }) => {
    const why = textOf(detail.why);
    return `was not allowed to ${spaced(target)}${why && ` (${why.replace(/\.$/, '')})`}`;
  },
  'session.create': ({ detail }) => (detail.by === 'passkey' ? 'signed in with a passkey' : 'signed in'),
  'session.prove': ({ detail }) => {
    if (detail.by === 'passkey') return 'confirmed who they are with a passkey';
    return detail.by === 'recovery-code' ? 'confirmed who they are with a recovery code' : 'confirmed who they are';
  },
  'session.end': ({ detail }) => (detail.session === undefined ? 'signed out' : 'signed another browser out'),
  'session.end-others': () => 'signed out everywhere else',
  'session.refuse': ({ target, detail }) => {
    const why = textOf(detail.why);
    return `failed to sign in${target && ` as ${target}`}${why && ` (${why})`}`;
  },
  'passkey.add': ({ detail }) => `added the passkey ${named(textOf(detail.name))}`,
  'passkey.rename': ({ detail }) => `renamed a passkey to ${named(textOf(detail.name))}`,
  'passkey.remove': ({ target, detail }) =>
    detail.name === undefined ? `removed the passkeys of ${target}` : `removed the passkey ${named(textOf(detail.name))}`,
  'passkey.refuse': ({ detail }) => `was refused with the passkey ${named(textOf(detail.name))}, which may be a copy`,
  'recovery-code.create': () => 'made new recovery codes',
  'user.change': ({ target, detail }) => {
    if (typeof detail.operator === 'boolean')
      return detail.operator ? `made ${target} an operator` : `revoked the operator rights of ${target}`;
    return suspendedOr('user', 'user')({ target, detail });
  },
  'user.delete': plainly('deleted the account of'),
  'user.export': plainly('downloaded what is held about'),
  'account.export': () => 'downloaded what is held about their account',
  'user.first-operator': plainly('made the first operator'),
  'login-link.create': plainly('made a login link for'),
  'operator.require-passkey': ({ detail }) =>
    detail.required === false ? 'no longer requires passkeys of operators' : 'now requires passkeys of operators',
  'registration.approve': ({ target, detail }) =>
    detail.by === 'invitation' ? `let ${target} have an account, by an invitation` : `approved the registration of ${target}`,
  'registration.reject': plainly('rejected the registration of'),
  'subscription.create': plainly('added the subscription of'),
  'subscription.change': ({ target, detail }) => `${detail.active === false ? 'ended' : 'renewed'} the subscription of ${target}`,
  'subscription.delete': plainly('deleted the subscription of'),
  'subscription.import': plainly('imported subscriptions:'),
  'region.create': about('created the region'),
  'region.change': about('changed the region'),
  'region.delete': about('deleted the region'),
  'region.key': about('made a new key for the edges of the region'),
  'block.create': plainly('blocked'),
  'block.delete': plainly('unblocked'),
  'block.import': plainly('imported blocks:'),
  'abuse-report.open': plainly('opened the abuse report about'),
  'abuse-report.closed': plainly('closed the abuse report about'),
} as const satisfies Readonly<Record<string, Phrase>>;

export type AuditAction = keyof typeof auditPhrases;

/** Actors that are no person with an account. */
const actorNames: ReadonlyMap<string, string> = new Map([
  ['operator', 'An operator'],
  ['unknown', 'Somebody'],
  ['webhook', 'The subscription webhook'],
  ['underpass', 'Underpass'],
  [deletedUser, 'A deleted user'],
]);

export const nameActor = (actor: string): string => actorNames.get(actor) ?? actor;

const isAuditAction = (action: string): action is AuditAction => Object.hasOwn(auditPhrases, action);

/** What happened, as the end of a sentence whose subject is the actor. An action of a newer version is named as it is. */
export function describeAudit({ action, target, detail }: Omit<AuditFacts, 'actor'>): string {
  const did = isAuditAction(action) ? auditPhrases[action]({ target, detail }) : `changed ${named(target)} (${action})`;
  if (detail.by !== 'api-token') return did;
  const token = textOf(detail.apiToken);
  return `${did}, with ${token ? `the API token ${named(token)}` : 'an API token'}`;
}
