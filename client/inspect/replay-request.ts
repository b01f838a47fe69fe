// The body of a replay call: JSON of unknown origin to a ReplayRequest, or null.

import type { ReplayRequest } from '@underpass/rules/inspect/exchange.ts';

export function readReplayRequest(text: string): ReplayRequest | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const { method, target, to, headers, body } = value as Record<string, unknown>;
  const areTexts = [method, target, to].every((item) => item === undefined || typeof item === 'string');
  const isKnown = areTexts && (headers === undefined || isHeaders(headers)) && (body === undefined || isBody(body));
  return isKnown ? (value as ReplayRequest) : null;
}

function isHeaders(value: unknown): boolean {
  const isHeader = (item: unknown): boolean =>
    Array.isArray(item) && item.length === 2 && typeof item[0] === 'string' && (item[1] === null || typeof item[1] === 'string');
  return Array.isArray(value) && value.every(isHeader);
}

function isBody(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { text, base64 } = value as Record<string, unknown>;
  return typeof text === 'string' ? base64 === undefined : typeof base64 === 'string' && text === undefined;
}
