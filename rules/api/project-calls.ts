// The calls about projects, the people in them, their API tokens and audit log.

import type { Call } from './call.ts';

const list = { method: 'GET', query: 'InProject', compress: true } as const;

export const projectCalls = {
  createProject: { method: 'POST', path: '/api/projects', json: 'ProjectName', answer: 'Project', who: 'user', needs: 'session' },
  renameProject: { method: 'PATCH', path: '/api/projects/:id', json: 'ProjectName', answer: 'Project', who: 'project.rename' },
  /** Whether members need a passkey. Only an owner whose session is confirmed with a passkey can require it. */
  requirePasskeys: {
    method: 'PATCH',
    path: '/api/projects/:id/passkeys',
    json: 'PasskeyRuleChange',
    answer: 'Project',
    who: 'project.require-passkeys',
    needs: 'fresh',
  },
  /** Deletes its tunnels, domains, groups, members and tokens too. The caller types `name` again to confirm. */
  deleteProject: {
    method: 'DELETE',
    path: '/api/projects/:id',
    json: 'ProjectName',
    who: 'project.delete',
    needs: 'session',
    lasting: true,
  },
  /** How the project stands: what its first screen shows, in one call. */
  getOverview: { ...list, path: '/api/overview', answer: 'Overview', who: 'project.read' },
  listMembers: { ...list, path: '/api/members', answer: 'Member[]', who: 'member.read' },
  changeMember: {
    method: 'PATCH',
    path: '/api/members/:id',
    query: 'InProject',
    json: 'RoleChange',
    answer: 'Member',
    who: 'member.read',
    needs: 'fresh',
  },
  removeMember: { method: 'DELETE', path: '/api/members/:id', query: 'InProject', who: 'member.leave', lasting: true },
  listInvitations: { ...list, path: '/api/invitations', answer: 'Invitation[]', who: 'invitation.read' },
  createInvitation: {
    method: 'POST',
    path: '/api/invitations',
    query: 'InProject',
    json: 'NewInvitation',
    answer: 'Invitation',
    who: 'invitation.create',
    needs: 'fresh',
    freshUnless: 'the role is viewer',
  },
  deleteInvitation: { method: 'DELETE', path: '/api/invitations/:id', query: 'InProject', who: 'invitation.delete' },
  /** What the invitation is to, for whom holds the link and is signed out, or has its e-mail address. Consumes nothing. */
  checkInvitation: {
    method: 'POST',
    path: '/api/invitations/check',
    json: 'InvitationToken',
    answer: 'InvitationOffer',
    who: 'anyone',
  },
  acceptInvitation: {
    method: 'POST',
    path: '/api/invitations/accept',
    json: 'InvitationToken',
    answer: 'Project',
    who: 'user',
    needs: 'session',
  },
  listApiTokens: { ...list, path: '/api/tokens', answer: 'ApiToken[]', who: 'api-token.read' },
  createApiToken: {
    method: 'POST',
    path: '/api/tokens',
    query: 'InProject',
    json: 'ApiTokenRequest',
    answer: 'NewApiToken',
    who: 'api-token.create',
    needs: 'fresh',
  },
  deleteApiToken: { method: 'DELETE', path: '/api/tokens/:id', query: 'InProject', who: 'api-token.delete', needs: 'session' },
  getUsage: { method: 'GET', path: '/api/usage', query: 'UsageQuery', answer: 'ProjectUsage', who: 'project.read' },
  exportUsage: { method: 'GET', path: '/api/usage/export', query: 'UsageQuery', answer: 'text/csv', who: 'project.read' },
  /** The figures of the project's tunnels in the text format of Prometheus (docs/figures.md). */
  getMetrics: { method: 'GET', path: '/api/metrics', query: 'InProject', answer: 'text/plain', who: 'tunnel.read' },
  listAudit: { ...list, path: '/api/audit', query: 'AuditQuery', answer: 'AuditPage', who: 'audit.read' },
  exportAudit: { method: 'GET', path: '/api/audit/export', query: 'InProject', answer: 'text/csv', who: 'audit.read' },
} as const satisfies Readonly<Record<string, Call>>;
