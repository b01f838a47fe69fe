// The calls about alerts: what a project was told, and who hears of it how.

import type { Call } from './call.ts';

export const alertCalls = {
  getAlerts: { method: 'GET', path: '/api/alerts', query: 'InProject', answer: 'AlertPage', who: 'alert.read', compress: true },
  /** The caller's own mails about this project. */
  changeAlertMail: {
    method: 'PATCH',
    path: '/api/alerts/mail',
    query: 'InProject',
    json: 'AlertMailChange',
    who: 'alert.read',
    needs: 'session',
  },
  changeAlertSettings: {
    method: 'PATCH',
    path: '/api/alerts/settings',
    query: 'InProject',
    json: 'AlertSettings',
    who: 'alert.change',
  },
} as const satisfies Readonly<Record<string, Call>>;
