// What differs between two answers: status, headers, and lines of their bodies.

import type { Comparison, DiffLine, HeaderDifference } from '@underpass/rules/inspect/exchange.ts';
import { decodeBody, viewBody } from './body-view.ts';
import { type ReadHead, readHead } from './core/head.ts';
import { diffLines } from './core/line-diff.ts';
import { isSecretHeader } from './core/secret-header.ts';
import type { KeptExchange } from './exchange-log.ts';
import { type CheckSignature, summarize } from './view.ts';

export function compareAnswers(left: KeptExchange, right: KeptExchange, check: CheckSignature, reveal: boolean): Comparison {
  const [leftHead, rightHead] = [left, right].map(({ responseHead }) => readHead(responseHead)) as [ReadHead, ReadHead];
  return {
    left: summarize(left, check),
    right: summarize(right, check),
    headers: differentHeaders(leftHead, rightHead, reveal),
    lines: compareBodies(left, leftHead, right, rightHead),
    hasSameBody:
      left.response.bytes === right.response.bytes &&
      decodeBody(leftHead, left.response).bytes.equals(decodeBody(rightHead, right.response).bytes),
  };
}

function compareBodies(
  left: KeptExchange,
  leftHead: ReadHead,
  right: KeptExchange,
  rightHead: ReadHead,
): readonly DiffLine[] | null {
  const [a, b] = [linesOf(left, leftHead), linesOf(right, rightHead)];
  return a === null || b === null ? null : diffLines(a, b);
}

function linesOf({ response }: KeptExchange, head: ReadHead): readonly string[] | null {
  const { shape, text } = viewBody(head, response);
  if (shape === 'none') return [];
  if (text === null) return null;
  return (shape === 'json' ? indented(text) : text).split(/\r?\n/);
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function differentHeaders(left: ReadHead, right: ReadHead, reveal: boolean): HeaderDifference[] {
  const [a, b] = [valuesByName(left), valuesByName(right)];
  const names = [...new Set([...a.keys(), ...b.keys()])].sort();
  return names.flatMap((name) => {
    const [of, to] = [a.get(name) ?? [], b.get(name) ?? []];
    if (JSON.stringify(of) === JSON.stringify(to)) return [];
    const shown = (values: readonly string[]) => values.map((value) => (reveal || !isSecretHeader(name) ? value : null));
    return [{ name, left: shown(of), right: shown(to) }];
  });
}

function valuesByName({ headers }: ReadHead): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of headers) values.set(name.toLowerCase(), [...(values.get(name.toLowerCase()) ?? []), value]);
  return values;
}
