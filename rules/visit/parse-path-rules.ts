// Parses path rules. People write a path decoded and in one spelling only, so a rule matches what it seems to match.

import { accept, type Parsed, refuse } from '../parsed.ts';
import { parseCallPattern, splitRule } from './call-rule.ts';
import { type PathAction, type PathRule, pathActions } from './path-rule.ts';
import { policyLimits } from './policy-limits.ts';

const actionMessage = "Choose 'public', 'sign-in' or 'deny' for each path.";

/** `/docs`, `/docs/*`, `/*`, `/` and, for one call of an MCP server, `/mcp#tools/call delete_*`. */
export function parsePathPattern(text: string): Parsed<string> {
  const { path: before, call: typed } = splitRule(text.trim());
  const path = before.trim();
  const problem = path === '' ? 'Path is required.' : problemOf(path);
  if (problem !== null) return refuse(problem);
  if (typed === null) return accept(path);
  const call = parseCallPattern(typed);
  return call.ok ? accept(`${path}#${call.value}`) : call;
}

function problemOf(path: string): string | null {
  const most = policyLimits.pathChars;
  if (!path.startsWith('/')) return "Path must begin with '/'.";
  if (path.length > most) return `Path must be at most ${most} characters; this has ${path.length}.`;
  const odd = oddText.find(([pattern]) => pattern.test(path));
  return odd === undefined ? null : odd[1];
}

/** What a server may read as another path, or not as a part of the path. */
const oddText: readonly (readonly [RegExp, string])[] = [
  [/\?/, "Path must not hold '?': a rule looks at the path alone."],
  [/\\/, "Path must not hold a backslash. Use '/'."],
  [/;/, "Path must not hold ';'. Parameters of a path do not count for a rule."],
  [/%/, "Path must not hold '%'. Write the character itself."],
  [/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u, 'Path must be visible characters.'],
  [/\/\//, "Path must not hold '//'."],
  [/\/\.{1,2}(\/|$)/, "Path must not hold '.' or '..' as a part."],
  [/\*(?!$)|[^/]\*/, "Path may hold '*' only as its last part, as in '/docs/*'."],
];

/** A path occurs once: the second rule for it would never decide. */
export function parsePathRules(
  rules: readonly { readonly path: string; readonly action: string }[],
): Parsed<readonly PathRule[]> {
  const most = policyLimits.rules;
  if (rules.length > most) return refuse(`Provide at most ${most} path rules; this list has ${rules.length}.`);
  const found = new Map<string, PathRule>();
  for (const { path: text, action } of rules) {
    const path = parsePathPattern(text);
    if (!path.ok) return path;
    if (!isAction(action)) return refuse(actionMessage);
    if (found.has(path.value)) return refuse(`Path '${path.value}' has two rules. Remove one.`);
    found.set(path.value, { path: path.value, action });
  }
  return accept([...found.values()]);
}

const isAction = (text: string): text is PathAction => (pathActions as readonly string[]).includes(text);
