// Which bot check the public forms show.
import { request } from './request.ts';

export type BotCheckKind =
  | { readonly kind: 'altcha'; readonly challengeUrl: string }
  | { readonly kind: 'turnstile'; readonly siteKey: string };

export const getBotCheck = (signal?: AbortSignal) => request<BotCheckKind>('GET', '/api/bot-check', { signal });
