// What an OAuth client says about itself: in a registration (RFC 7591 2), or in the document at the address that is its id. Pure.

import { isPlainText } from '@underpass/rules/text/characters.ts';
import type { OAuthClient } from './authorization.ts';
import { isRedirectUri } from './redirect-uri.ts';

const redirectUrisMost = 10;
const nameCharsMost = 60;

/** RFC 7591 3.2.2. */
interface WrongMetadata {
  readonly ok: false;
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  readonly description: string;
}
type ParsedMetadata = { readonly ok: true; readonly value: Pick<OAuthClient, 'name' | 'redirectUris'> } | WrongMetadata;

const wrong = (error: WrongMetadata['error'], description: string): WrongMetadata => ({ ok: false, error, description });

const has = (list: unknown, value: string): boolean => list === undefined || (Array.isArray(list) && list.includes(value));

/** People read the name beside the question whether they trust it: one short line of visible characters. */
function parseName(value: unknown): string | null {
  if (value === undefined) return 'A program';
  if (typeof value !== 'string') return null;
  const name = value.replace(/\s+/g, ' ').trim();
  // Directions and joiners would let a name show as another one.
  if (!isPlainText(name) || /[\p{C}\p{Zl}\p{Zp}]/u.test(name)) return null;
  const letters = [...name];
  if (letters.length > nameCharsMost) return `${letters.slice(0, nameCharsMost - 1).join('')}…`;
  return name === '' ? 'A program' : name;
}

function parseRedirectUris(value: unknown): readonly string[] | null {
  if (!Array.isArray(value) || value.length === 0 || value.length > redirectUrisMost) return null;
  return value.every((each) => typeof each === 'string' && isRedirectUri(each)) ? [...new Set(value)] : null;
}

const uriRule = 'an https address, http on 127.0.0.1, [::1] or localhost, or a scheme of the program; without a fragment';

export function parseMetadata(metadata: Readonly<Record<string, unknown>>): ParsedMetadata {
  const redirectUris = parseRedirectUris(metadata.redirect_uris);
  if (redirectUris === null)
    return wrong('invalid_redirect_uri', `redirect_uris must be 1 to ${redirectUrisMost} addresses, each ${uriRule}.`);
  const name = parseName(metadata.client_name);
  if (name === null) return wrong('invalid_client_metadata', 'client_name must be a text of visible characters.');
  if (!has(metadata.response_types, 'code')) return wrong('invalid_client_metadata', 'response_types must have code.');
  if (!has(metadata.grant_types, 'authorization_code'))
    return wrong('invalid_client_metadata', 'grant_types must have authorization_code.');
  return { ok: true, value: { name, redirectUris } };
}

/** OAuth Client ID Metadata Document, section 3: an https address with a path, which reads only one way. */
export function isDocumentId(clientId: string): boolean {
  if (clientId.length > 512 || !/^https:\/\/[\x21-\x7e]+$/.test(clientId) || /[\\#@]/.test(clientId)) return false;
  const url = URL.canParse(clientId) ? new URL(clientId) : null;
  return url !== null && url.pathname !== '/' && url.href === clientId;
}

/** The client that a document describes; a text says what is wrong with it. */
export function parseDocument(clientId: string, text: string): OAuthClient | string {
  const metadata = parseObject(text);
  if (metadata === null) return 'its document is not a JSON object';
  // It may be another site's document, served from a folder that strangers write to.
  if (metadata.client_id !== clientId) return 'its document names another client_id';
  if (metadata.client_secret !== undefined) return 'its document holds a secret';
  if (![undefined, 'none'].includes(metadata.token_endpoint_auth_method as string | undefined))
    return 'its document asks for another token_endpoint_auth_method than none';
  const parsed = parseMetadata(metadata);
  return parsed.ok ? { id: clientId, ...parsed.value, isDocument: true } : `in its document ${parsed.description}`;
}

/** Null for anything but a JSON object. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
