// The calls that need no sign-in, beyond those of session.ts.
import type { BotCheck, Meta, Release } from '@underpass/rules/resource.ts';
import { request } from './request.ts';

export const getMeta = (signal?: AbortSignal) => request<Meta>('GET', '/api/meta', { signal });

export const getBotCheck = (signal?: AbortSignal) => request<BotCheck>('GET', '/api/bot-check', { signal });

/** Newest first. */
export const listReleases = (signal?: AbortSignal) => request<Release[]>('GET', '/api/releases', { signal });

export interface NewAbuseReport {
  readonly host: string;
  readonly email: string;
  readonly text: string;
  readonly botCheck: string;
}

export const reportAbuse = ({ botCheck, ...report }: NewAbuseReport) =>
  request<void>('POST', '/api/abuse-reports', { json: { ...report, 'bot-check': botCheck } });
