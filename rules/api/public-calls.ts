// The calls that need no account.

import type { Call } from './call.ts';

export const publicCalls = {
  getMeta: { method: 'GET', path: '/api/meta', answer: 'Meta', who: 'anyone' },
  getBotCheck: { method: 'GET', path: '/api/bot-check', answer: 'BotCheck', who: 'anyone' },
  getBotChallenge: { method: 'GET', path: '/api/bot-check/challenge', answer: 'BotChallenge', who: 'anyone' },
  listReleases: { method: 'GET', path: '/api/releases', answer: 'Release[]', who: 'anyone' },
  reportAbuse: { method: 'POST', path: '/api/abuse-reports', json: 'NewAbuseReport', who: 'anyone' },
} as const satisfies Readonly<Record<string, Call>>;
