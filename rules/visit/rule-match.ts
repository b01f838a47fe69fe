// Which rule of a policy decides about a request: by its path, and where rules are about MCP calls, by the call that it names. Pure.

import { isCallRule, type McpCall, matchCall, splitRule, withoutCalls } from './call-rule.ts';
import type { Reach } from './method-reach.ts';
import { compilePaths, type PathDecision } from './path-match.ts';
import type { PathRule } from './path-rule.ts';

interface RuleMatch {
  /** False: the call of a request does not matter. */
  readonly asksForCall: boolean;
  /** `call`: null if the request names none, or not plainly. A rule about calls then denies what its path matches. */
  readonly decide: (target: string, reach?: Reach, call?: McpCall | null) => PathDecision;
  /** Decides by the rules that are about every request. */
  readonly decidePath: (target: string, reach?: Reach) => PathDecision;
}

type Decide = (target: string, reach?: Reach) => PathDecision;

/** Sets of matching rules that stay compiled. A policy whose calls need more compiles again, at some 0.1 ms. */
const mostCompiled = 64;

export function compileRules(rules: readonly PathRule[]): RuleMatch {
  const decidePath = compilePaths(rules.filter((rule) => !isCallRule(rule)));
  if (!rules.some(isCallRule)) return { asksForCall: false, decide: decidePath, decidePath };
  const unknown = compileSame(rules, withoutCalls(rules));
  const byMatch = new Map<string, Decide>();
  const decide: RuleMatch['decide'] = (target, reach, call = null) => {
    const matching = call === null ? null : matchingRules(rules, call);
    if (matching === null) return unknown(target, reach);
    const key = matching.map((rule) => rules.indexOf(rule)).join();
    const known = byMatch.get(key) ?? compileSame(matching, matching.map(byPath));
    if (byMatch.size >= mostCompiled) byMatch.clear();
    byMatch.set(key, known);
    return known(target, reach);
  };
  return { asksForCall: true, decide, decidePath };
}

/** Null if servers may differ about one of the rules. */
function matchingRules(rules: readonly PathRule[], call: McpCall): readonly PathRule[] | null {
  const matching: PathRule[] = [];
  for (const rule of rules) {
    const { call: pattern } = splitRule(rule.path);
    const matches = pattern === null || matchCall(pattern, call);
    if (matches === null) return null;
    if (matches) matching.push(rule);
  }
  return matching;
}

const byPath = (rule: PathRule): PathRule => ({ path: splitRule(rule.path).path, action: rule.action });

/** Decides by `compiled`, and names the rule of `own` at the same place. */
function compileSame(own: readonly PathRule[], compiled: readonly PathRule[]): Decide {
  const decide = compilePaths(compiled);
  return (target, reach) => {
    const { action, rule } = decide(target, reach);
    return { action, rule: rule === null ? null : (own[compiled.indexOf(rule)] ?? null) };
  };
}
