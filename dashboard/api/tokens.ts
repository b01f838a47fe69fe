// The calls about API tokens.
import type { Role } from '@underpass/rules/entity.ts';
import type { ApiToken, NewApiToken } from '@underpass/rules/resource.ts';
import { request } from './request.ts';

export interface ApiTokenWish {
  readonly name: string;
  readonly role: Role;
  /** Without it the token does not expire. */
  readonly expiresInDays?: number;
}

export const listApiTokens = (project: string, signal?: AbortSignal) =>
  request<ApiToken[]>('GET', '/api/tokens', { query: { project }, signal });

export const createApiToken = (project: string, wish: ApiTokenWish) =>
  request<NewApiToken>('POST', '/api/tokens', { query: { project }, json: wish });

export const deleteApiToken = (project: string, id: string) =>
  request<void>('DELETE', `/api/tokens/${encodeURIComponent(id)}`, { query: { project } });
