// The calls about alerts: what a project was told, and who hears of it how.

import type { Call } from './call.ts';

const change = { query: 'InProject', who: 'alert.change' } as const;

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
  changeAlertSettings: { ...change, method: 'PATCH', path: '/api/alerts/settings', json: 'AlertSettings' },
  getAlertWebhook: { ...change, method: 'GET', path: '/api/alerts/webhook', answer: 'AlertWebhookPage', compress: true },
  /** Makes the webhook, or changes it and switches it on again. Without an address, the present one stays. */
  saveAlertWebhook: {
    ...change,
    method: 'POST',
    path: '/api/alerts/webhook',
    json: 'AlertWebhookChange',
    answer: 'NewAlertWebhook',
    lasting: true,
  },
  /** Makes a new secret. The old one signs too for a day. */
  rotateAlertWebhook: { ...change, method: 'POST', path: '/api/alerts/webhook/rotate', answer: 'NewAlertWebhook', lasting: true },
  deleteAlertWebhook: { ...change, method: 'DELETE', path: '/api/alerts/webhook' },
  testAlertWebhook: { ...change, method: 'POST', path: '/api/alerts/webhook/test', answer: 'AlertDelivery' },
  resendAlertDelivery: { ...change, method: 'POST', path: '/api/alerts/webhook/deliveries/:id/again' },
} as const satisfies Readonly<Record<string, Call>>;
