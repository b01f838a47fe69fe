// Who may do what in a project: one table of roles and actions (spec 6).

import { accept, type Parsed, refuse } from '../parsed.ts';

/** Roles from most to least powerful. Each role may do everything that the roles after it may do. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const;

type Role = (typeof roles)[number];

export const roleLabels: Readonly<Record<Role, string>> = {
  owner: 'Owner',
  admin: 'Admin',
  member: 'Member',
  viewer: 'Viewer',
};

export const roleDescriptions: Readonly<Record<Role, string>> = {
  owner: 'Everything, including owners and the project itself.',
  admin: 'Everything except owners and the project itself.',
  member: 'Tunnels, domains, security groups and access policies.',
  viewer: 'Sees everything except tokens and the audit log; changes nothing.',
};

/** Each action and the least role that may do it. */
export const permissions = {
  'project.read': 'viewer',
  'project.rename': 'owner',
  'project.require-passkeys': 'owner',
  'project.delete': 'owner',
  'member.read': 'viewer',
  'member.change': 'admin',
  'member.remove': 'admin',
  'member.leave': 'viewer',
  'invitation.read': 'admin',
  'invitation.create': 'admin',
  'invitation.delete': 'admin',
  'tunnel.read': 'viewer',
  'tunnel.read-token': 'member',
  'tunnel.create': 'member',
  'tunnel.update': 'member',
  'tunnel.delete': 'member',
  'tunnel.rotate-token': 'member',
  'tunnel.reach': 'member',
  'visitor-log.read': 'member',
  'domain.read': 'viewer',
  'domain.create': 'member',
  'domain.verify': 'member',
  'domain.delete': 'member',
  'dns.lookup': 'viewer',
  'security-group.read': 'viewer',
  'security-group.create': 'member',
  'security-group.update': 'member',
  'security-group.delete': 'member',
  'access-policy.read': 'viewer',
  'access-policy.create': 'member',
  'access-policy.update': 'member',
  'access-policy.delete': 'member',
  'access-sign-in.read': 'admin',
  'api-token.read': 'member',
  'api-token.create': 'member',
  'api-token.delete': 'member',
  'device.approve': 'viewer',
  'alert.read': 'viewer',
  'alert.change': 'admin',
  'audit.read': 'admin',
} as const satisfies Readonly<Record<string, Role>>;

export type Action = keyof typeof permissions;

/** The public text of a 403. */
export const forbiddenMessage = 'Your role in this project does not allow this.';

/** Who may do it, for a person who may not: `Only owners and admins may do this. Ask Ann.` */
export function whoMay(action: Action, askFor?: string): string {
  const allowed = roles.filter((role) => may(role, action)).map((role) => `${role}s`);
  const last = allowed.at(-1)!;
  const listed = allowed.length === 1 ? last : `${allowed.slice(0, -1).join(', ')} and ${last}`;
  return `Only ${listed} may do this.${askFor === undefined ? '' : ` Ask ${askFor}.`}`;
}

export function may(role: Role, action: Action): boolean {
  return Object.hasOwn(permissions, action) && mayGrant(role, permissions[action]);
}

/** True if `granted` is at most as powerful as `granter`: invitations, API tokens and devices never exceed their creator's role. */
export function mayGrant(granter: Role, granted: Role): boolean {
  return roles.includes(granter) && roles.includes(granted) && roles.indexOf(granted) >= roles.indexOf(granter);
}

export function parseRole(text: string): Parsed<Role> {
  const role = roles.find((candidate) => candidate === text);
  return role === undefined ? refuse(`Role must be one of ${roles.join(', ')}.`) : accept(role);
}

interface MembershipChange {
  readonly actor: Role;
  readonly isSelf: boolean;
  readonly from: Role;
  /** null: the member leaves or is removed. */
  readonly to: Role | null;
  readonly ownerCount: number;
}

/** Whether the actor may change or remove a member. A refusal becomes a 403, or a 409 for the last owner. */
export function decideMembershipChange(change: MembershipChange): Parsed<Role | null> {
  if (!mayTouch(change)) return refuse(forbiddenMessage);
  const losesOwner = change.from === 'owner' && change.to !== 'owner';
  if (losesOwner && change.ownerCount <= 1) return refuse(lastOwnerMessage);
  return accept(change.to);
}

export const lastOwnerMessage = 'The last owner cannot leave the project. Make someone else an owner first.';

/** The tunnel as this role may see it. */
export function redactTunnel<T extends { readonly token?: string }>(
  tunnel: T,
  role: Role,
): Omit<T, 'token'> & { readonly token?: string } {
  if (may(role, 'tunnel.read-token')) return tunnel;
  const { token: _token, ...visible } = tunnel;
  return visible;
}

function mayTouch({ actor, isSelf, from, to }: MembershipChange): boolean {
  if (isSelf) return to === null ? may(actor, 'member.leave') : mayGrant(actor, to);
  const action = to === null ? 'member.remove' : 'member.change';
  return may(actor, action) && mayGrant(actor, from) && (to === null || mayGrant(actor, to));
}
