// What differs between two answers: status, headers, and lines of their bodies.

import type { Comparison, HeaderDifference } from '@underpass/rules/inspect/exchange.ts';
import { indentJson } from '@underpass/rules/inspect/indent-json.ts';
import { decodeBody, viewBody } from './body-view.ts';
import { type ReadHead, readHead } from './core/head.ts';
import { diffLines } from './core/line-diff.ts';
import { isSecretHeader } from './core/secret-header.ts';
import type { KeptExchange } from './exchange-log.ts';
import { type CheckSignature, summarize } from './view.ts';

/** Lines of each body, from its start. A page shows fewer; 4 MiB of line ends would be gigabytes of objects and JSON. */
const maxLines = 10_000;

export async function compareAnswers(
  left: KeptExchange,
  right: KeptExchange,
  check: CheckSignature,
  reveal: boolean,
): Promise<Comparison> {
  const [leftHead, rightHead] = [left, right].map(({ responseHead }) => readHead(responseHead)) as [ReadHead, ReadHead];
  const [a, b] = [await linesOf(left, leftHead), await linesOf(right, rightHead)];
  const [of, to] = [await decodeBody(leftHead, left.response), await decodeBody(rightHead, right.response)];
  return {
    left: summarize(left, check),
    right: summarize(right, check),
    headers: differentHeaders(leftHead, rightHead, reveal),
    lines: a === null || b === null ? null : diffLines(a.slice(0, maxLines), b.slice(0, maxLines)),
    comparedLines: Math.max(a?.length ?? 0, b?.length ?? 0) > maxLines ? maxLines : null,
    hasSameBody: left.response.bytes === right.response.bytes && of.bytes.equals(to.bytes),
  };
}

/** One more than are compared, if there are more. */
async function linesOf({ response }: KeptExchange, head: ReadHead): Promise<readonly string[] | null> {
  const { shape, text } = await viewBody(head, response);
  if (shape === 'none') return [];
  if (text === null) return null;
  return (shape === 'json' ? (indentJson(text) ?? text) : text).split(/\r?\n/, maxLines + 1);
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
  const fields = Map.groupBy(headers, ([name]) => name.toLowerCase());
  return new Map([...fields].map(([name, same]) => [name, same.map(([, value]) => value)]));
}
