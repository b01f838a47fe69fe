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
  getAlertWebhook: {
    method: 'GET',
    path: '/api/alerts/webhook',
    query: 'InProject',
    answer: 'AlertWebhookPage',
    who: 'alert.change',
    compress: true,
  },
  /** Makes the webhook, or changes it and switches it on again. Without an address, the present one stays. */
  saveAlertWebhook: {
    method: 'POST',
    path: '/api/alerts/webhook',
    query: 'InProject',
    json: 'AlertWebhookChange',
    answer: 'NewAlertWebhook',
    who: 'alert.change',
    lasting: true,
  },
  /** Makes a new secret. The old one signs too for a day. */
  rotateAlertWebhook: {
    method: 'POST',
    path: '/api/alerts/webhook/rotate',
    query: 'InProject',
    answer: 'NewAlertWebhook',
    who: 'alert.change',
    lasting: true,
  },
  deleteAlertWebhook: { method: 'DELETE', path: '/api/alerts/webhook', query: 'InProject', who: 'alert.change' },
  testAlertWebhook: {
    method: 'POST',
    path: '/api/alerts/webhook/test',
    query: 'InProject',
    answer: 'AlertDelivery',
    who: 'alert.change',
  },
  resendAlertDelivery: {
    method: 'POST',
    path: '/api/alerts/webhook/deliveries/:id/again',
    query: 'InProject',
    who: 'alert.change',
  },
} as const satisfies Readonly<Record<string, Call>>;
