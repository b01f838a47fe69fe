// The alerts that go out by mail and webhook: which items that need attention become one, and its text.

import { dayMs } from '../limits.ts';
import { counted } from '../text/counted.ts';
import { type AttentionItem, type AttentionKind, describeAttention } from './attention.ts';
import { clientErrors } from './client-error.ts';
import type { StatusTone } from './tunnel-status.ts';

interface AlertRule {
  readonly tone: StatusTone | 'warning';
  /** People hear of its end too. */
  readonly ends?: true;
  /** Happens at one moment, and is over at once. */
  readonly once?: true;
  /** A notice that nobody can switch off has told everybody whom it concerns: alert mails leave it out. */
  readonly noticed?: true;
  /** Hidden from viewers: they see no tokens. */
  readonly aboutTokens?: true;
}

export const alertKinds = {
  'region-down': { tone: 'negative', ends: true },
  'tunnel-down': { tone: 'negative', ends: true },
  'port-closed': { tone: 'negative' },
  'certificate-missing': { tone: 'negative', ends: true },
  'domain-elsewhere': { tone: 'negative' },
  'domain-lost': { tone: 'negative', once: true, noticed: true },
  'domain-losing': { tone: 'warning' },
  'certificate-ending': { tone: 'warning' },
  'own-certificate-ended': { tone: 'negative' },
  'own-certificate-ending': { tone: 'warning' },
  'token-ending': { tone: 'warning', aboutTokens: true },
  'quota-full': { tone: 'warning' },
  'quota-near': { tone: 'warning' },
  'owner-added': { tone: 'warning', once: true, noticed: true },
  'token-created': { tone: 'warning', once: true, aboutTokens: true },
} as const satisfies Readonly<Record<string, AlertRule>>;

export type AlertKind = keyof typeof alertKinds;

export const ruleOf = (kind: AlertKind): AlertRule => alertKinds[kind];

/** What is known about an alert. The kind decides which of the others are there. */
export interface AlertFacts extends Omit<AttentionItem, 'kind'> {
  readonly kind: AlertKind;
  /** The item behind it, where one kind of alert stands for several. */
  readonly cause?: AttentionKind;
  /** Whom it is about: an e-mail. */
  readonly person?: string;
  /** The tunnels of the project in the region: how many are down, of those that should work. */
  readonly inRegion?: { readonly down: number; readonly total: number };
}

/** Which of the items are worth a mail. One alert stands for a tunnel that is down, whatever the cause. */
const kindOf: Readonly<Partial<Record<AttentionKind, AlertKind>>> = {
  'region-down': 'region-down',
  'tunnel-down': 'tunnel-down',
  'upstream-failing': 'tunnel-down',
  'port-closed': 'port-closed',
  'domain-elsewhere': 'domain-elsewhere',
  'certificate-missing': 'certificate-missing',
  'certificate-ending': 'certificate-ending',
  'own-certificate-ended': 'own-certificate-ended',
  'own-certificate-ending': 'own-certificate-ending',
  'domain-losing': 'domain-losing',
  'token-ending': 'token-ending',
  'quota-full': 'quota-full',
  'quota-near': 'quota-near',
};

/** A tunnel that fell longer ago is no news: its people have seen it. */
export const newsMostMs = 7 * dayMs;

/** Undefined if the item is no alert: it is set up, or visitors are still served. */
export function alertOf({ kind, ...item }: AttentionItem): AlertFacts | undefined {
  const alert = kindOf[kind];
  if (alert === undefined || (kind === 'upstream-failing' && item.affected !== item.total)) return undefined;
  return { kind: alert, ...item, cause: kind };
}

/** The same for the same trouble: a project has one open alert of a kind and subject. */
export const subjectOf = ({ kind, tunnel = '', domain = '', tokenName = '', region = '', quota, affected }: AlertFacts): string =>
  ({
    'region-down': region,
    'tunnel-down': tunnel,
    'port-closed': tunnel,
    'domain-elsewhere': domain,
    'certificate-missing': domain,
    'certificate-ending': domain,
    'own-certificate-ended': domain,
    // Each of its warnings is news.
    'own-certificate-ending': `${domain} ${affected}`,
    'domain-losing': domain,
    'domain-lost': domain,
    'token-ending': tokenName,
    'quota-full': quota ?? '',
    'quota-near': quota ?? '',
    'owner-added': '',
    'token-created': '',
  })[kind];

type AlertState = 'open' | 'closed';
/** How it ended: what was wrong works again, or nobody expects it to work any more. */
export type AlertEnd = 'back' | 'gone';

interface AlertText {
  /** A sentence without its full stop. */
  readonly title: string;
  readonly text: string;
}

/** The times stand beside the text. */
export function describeAlert(facts: AlertFacts, end?: AlertEnd): AlertText {
  if (end !== undefined && ruleOf(facts.kind).ends) return describeEnd(facts, end);
  const { kind, person = '', tokenName = '', domain = '', cause } = facts;
  switch (kind) {
    case 'domain-lost':
      return {
        title: `${domain} is no longer verified`,
        text: 'Its TXT record was missing for three days: tunnels do not serve it.',
      };
    case 'owner-added':
      return { title: `${person} is a new owner`, text: 'Owners may do everything in the project, and delete it.' };
    case 'token-created':
      return { title: `${person} created the API token ‘${tokenName}’`, text: 'Revoke it if nobody expects it.' };
    case 'tunnel-down':
      return withReach(withError(describeAttention({ ...facts, kind: cause ?? kind }), facts), facts);
    default:
      return describeAttention({ ...facts, kind });
  }
}

/** The item of a failing upstream does not name the error: its page shows the client. */
const withError = ({ title, text }: AlertText, { cause, error }: AlertFacts): AlertText =>
  cause === 'upstream-failing' && error !== undefined
    ? { title, text: `${text} Last error: ${clientErrors[error.code]}, client at ${error.address}.` }
    : { title, text };

/** Says whether the trouble is the tunnel's alone. */
function withReach({ title, text }: AlertText, { region, inRegion }: AlertFacts): AlertText {
  if (region === undefined || inRegion === undefined || inRegion.total <= 1) return { title, text };
  const { down, total } = inRegion;
  const reach =
    down >= total
      ? `All ${total} tunnels of the project in region ${region} are down.`
      : `Of ${counted(total, 'tunnel')} in region ${region}, ${down === 1 ? 'only this one is' : `${down} are`} down.`;
  return { title, text: `${text} ${reach}` };
}

function describeEnd({ kind, tunnel = '', domain = '', region = '', affected = 1 }: AlertFacts, end: AlertEnd): AlertText {
  const over = 'Nobody expects it to work now: it was stopped, suspended or deleted, or was down for weeks.';
  if (kind === 'region-down')
    return { title: `Region ${region} is back`, text: `${counted(affected, 'tunnel')} of this project can be used again.` };
  if (kind === 'certificate-missing') return { title: `${domain}: the order of a certificate no longer fails`, text: '' };
  return end === 'back'
    ? { title: `${tunnel} is back`, text: 'Visitors are served.' }
    : { title: `${tunnel} is no longer watched`, text: over };
}

/** The colour of an alert: its end is good news. */
export const toneOf = (kind: AlertKind, state: AlertState): AlertRule['tone'] =>
  state === 'closed' && !ruleOf(kind).once ? 'positive' : ruleOf(kind).tone;
