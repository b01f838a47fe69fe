// Path rules about calls to an MCP server: `/mcp#tools/call delete_*` is about those requests for `/mcp` that name such a call in
// the fields Mcp-Method and Mcp-Name (MCP 2026-07-28). Pure.

import { accept, type Parsed, refuse } from '../parsed.ts';
import type { PathRule } from './path-rule.ts';

/** What a request says about its call. */
export interface McpCall {
  readonly method: string;
  /** The name of a tool or prompt, or the URI of a resource; null: the request names none. */
  readonly name: string | null;
}

const mark = '#';
const calledMethod = /^[A-Za-z0-9$._-]+(?:\/[A-Za-z0-9$._-]+)*$/;
/** A rule's method has a slash, as all that clients call have, so the fragment of a pasted address is no call. */
const ruledMethod = /^[A-Za-z0-9$._-]+(?:\/[A-Za-z0-9$._-]+)*\/(?:[A-Za-z0-9$._-]+|\*)$/;
/** Printable ASCII. `=?` begins a name in Base64. */
const namePattern = /^(?!=\?)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const mostChars = 512;

/** The path of a rule, and the call that it is about; null: every request. */
export function splitRule(path: string): { readonly path: string; readonly call: string | null } {
  const at = path.indexOf(mark);
  return at < 0 ? { path, call: null } : { path: path.slice(0, at), call: path.slice(at + 1) };
}

export const isCallRule = ({ path }: PathRule): boolean => path.includes(mark);

/** `tools/list`, `tools/*`, `tools/call delete_all` and `tools/call delete_*`. */
export function parseCallPattern(text: string): Parsed<string> {
  const [method = '', ...words] = text.trim().split(/\s+/);
  const name = words.join(' ');
  if (!ruledMethod.test(method)) return refuse(`Call '${text}' must begin with an MCP method, as in '/mcp#tools/call delete_*'.`);
  if (name === '') return accept(method);
  if (method.endsWith('/*')) return refuse(`Call '${text}' must name one method before the name of a tool.`);
  if (!namePattern.test(name) || /\*(?!$)/.test(name))
    return refuse(`The name in call '${text}' must be printable ASCII and may hold '*' only at its end.`);
  return accept(`${method} ${name}`);
}

/** Null unless both are plain: servers may decode, join or fold what is not. Give null for a field that is absent. */
export function readCall(method: string | null, name: string | null): McpCall | null {
  if (method === null || method.length > mostChars || !calledMethod.test(method)) return null;
  return name === null || (name.length <= mostChars && namePattern.test(name)) ? { method, name } : null;
}

/** Rules for a request whose call is unknown, and for programs that know no calls: none of these requests passes a rule about calls. */
export const withoutCalls = (rules: readonly PathRule[]): readonly PathRule[] =>
  rules.map((rule) => (isCallRule(rule) ? { path: splitRule(rule.path).path, action: 'deny' } : rule));

/** Whether a rule's call is this one; null: servers may differ about it. */
export function matchCall(pattern: string, { method, name }: McpCall): boolean | null {
  const [ownMethod = '', ...words] = pattern.split(' ');
  const byMethod = matchText(ownMethod, method);
  if (words.length === 0 || byMethod === false) return byMethod;
  if (name === null || isAmbiguous(name)) return null;
  const byName = matchText(words.join(' '), name);
  return byName === false ? false : byMethod && byName;
}

/** Escapes, backslashes and dot segments: some servers resolve them in the URI of a resource. */
const isAmbiguous = (name: string): boolean => /[%\\]|(?:^|\/)\.{1,2}(?:\/|$)/.test(name);

/** Null if only the letter case differs. */
function matchText(pattern: string, text: string): boolean | null {
  if (covers(pattern, text)) return true;
  return covers(pattern.toLowerCase(), text.toLowerCase()) ? null : false;
}

const covers = (pattern: string, text: string): boolean =>
  pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern;
