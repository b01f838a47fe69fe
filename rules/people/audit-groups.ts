// Groups of actions to choose from in the audit log: what a person calls them, and the nouns of the actions.

interface AuditGroup {
  readonly label: string;
  readonly nouns: readonly string[];
  /** The logs that have such rows. */
  readonly logs: readonly AuditLogKind[];
}

/** A project's log, or the service's. */
export type AuditLogKind = 'project' | 'service';

const project = ['project'] as const;
const service = ['service'] as const;

export const auditGroups = {
  tunnels: { label: 'Tunnels', nouns: ['tunnel'], logs: project },
  domains: { label: 'Domains', nouns: ['domain', 'certificate'], logs: project },
  'security-groups': { label: 'Security groups', nouns: ['security-group'], logs: project },
  access: { label: 'Access policies', nouns: ['access-policy'], logs: project },
  people: { label: 'Members and invitations', nouns: ['member', 'invitation'], logs: project },
  tokens: { label: 'API tokens and terminals', nouns: ['api-token'], logs: project },
  projects: { label: 'The project itself', nouns: ['project', 'alert', 'alert-webhook'], logs: project },
  'sign-ins': { label: 'Sign-ins and passkeys', nouns: ['session', 'passkey', 'recovery-code', 'login-link'], logs: service },
  users: {
    label: 'Users and registrations',
    nouns: ['user', 'account', 'registration', 'subscription', 'operator'],
    logs: service,
  },
  regions: { label: 'Regions', nouns: ['region'], logs: service },
  abuse: { label: 'Blocks and reports of abuse', nouns: ['block', 'abuse-report'], logs: service },
  refusals: { label: 'Refused calls', nouns: ['call'], logs: ['project', 'service'] },
} as const satisfies Readonly<Record<string, AuditGroup>>;

type AuditGroupName = keyof typeof auditGroups;

export const auditGroupsOf = (log: AuditLogKind): readonly (readonly [AuditGroupName, AuditGroup])[] =>
  (Object.entries(auditGroups) as [AuditGroupName, AuditGroup][]).filter(([, { logs }]) => logs.includes(log));

/** The `action` of a query for a group; undefined for no group. */
export const actionsOf = (name: string): string | undefined =>
  Object.hasOwn(auditGroups, name) ? auditGroups[name as AuditGroupName].nouns.join(',') : undefined;
