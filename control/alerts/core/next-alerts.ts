// What changes in the open alerts of a project: compares what needs attention now with what is known. Pure, and the same twice.

import { type AlertEnd, type AlertFacts, newsMostMs, ruleOf, subjectOf } from '@underpass/rules/tunnel/alert.ts';

export interface KnownAlert {
  readonly id: string;
  readonly facts: AlertFacts;
  readonly about: string;
  readonly observedAt: number;
  /** Null while its waiting time runs. */
  readonly openedAt: number | null;
}

export type AlertStep =
  /** Notes when it was first seen: what it is about does not say since when. */
  | { readonly step: 'observe'; readonly facts: AlertFacts }
  | { readonly step: 'open'; readonly known: KnownAlert | undefined; readonly facts: AlertFacts }
  | { readonly step: 'close'; readonly known: KnownAlert; readonly end: AlertEnd }
  /** Forgets what passed within its waiting time: nobody hears of it. */
  | { readonly step: 'drop'; readonly known: KnownAlert };

export interface AlertView {
  readonly nowMs: number;
  readonly waitMs: number;
  /** Nothing changes for it: the edges have not said how it stands. */
  readonly isHeld: (facts: AlertFacts) => boolean;
  readonly endOf: (facts: AlertFacts) => AlertEnd;
}

/** Edges dial a new control process again within seconds: until then a region looks as if it were down. */
const regionLeastMs = 60_000;

const waitOf = ({ kind }: AlertFacts, waitMs: number): number =>
  kind === 'region-down' ? Math.max(waitMs, regionLeastMs) : waitMs;

const keyOf = (kind: string, about: string): string => `${kind} ${about}`;

export function nextAlerts(now: readonly AlertFacts[], known: readonly KnownAlert[], view: AlertView): readonly AlertStep[] {
  const [lasting, once] = [
    known.filter(({ facts }) => !ruleOf(facts.kind).once),
    known.filter(({ facts }) => ruleOf(facts.kind).once),
  ];
  const knownBy = new Map(lasting.map((alert) => [keyOf(alert.facts.kind, alert.about), alert]));
  const found = new Map(now.map((facts) => [keyOf(facts.kind, subjectOf(facts)), facts]));
  return [
    ...once.map((alert): AlertStep => ({ step: 'open', known: alert, facts: alert.facts })),
    ...[...found].flatMap(([key, facts]) => (view.isHeld(facts) ? [] : stepOf(facts, knownBy.get(key), view))),
    ...lasting
      .filter(({ facts, about }) => !found.has(keyOf(facts.kind, about)) && !view.isHeld(facts))
      .map((alert) => endOf(alert, view)),
  ];
}

function stepOf(facts: AlertFacts, known: KnownAlert | undefined, { nowMs, waitMs }: AlertView): readonly AlertStep[] {
  if (known !== undefined && known.openedAt !== null) return [];
  const sinceMs = facts.since === undefined ? undefined : Date.parse(facts.since);
  const startMs = sinceMs ?? known?.observedAt;
  if (startMs === undefined) return [{ step: 'observe', facts }];
  if (known === undefined && facts.kind === 'tunnel-down' && nowMs - startMs > newsMostMs) return [];
  if (nowMs - startMs < waitOf(facts, waitMs)) return [];
  return [{ step: 'open', known, facts: { ...facts, since: new Date(startMs).toISOString() } }];
}

const endOf = (known: KnownAlert, view: AlertView): AlertStep =>
  known.openedAt === null ? { step: 'drop', known } : { step: 'close', known, end: view.endOf(known.facts) };
