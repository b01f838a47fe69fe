// Who may do what in a project: one table of roles and actions (spec 6; design 4).

import type { Role, Tunnel } from './entity.ts';
import { accept, type Parsed, refuse } from './parsed.ts';

/** From most to least. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const satisfies readonly Role[];

export const roleLabels: Readonly<Record<Role, string>> = {
  owner: 'Owner',
  admin: 'Admin',
  member: 'Member',
  viewer: 'Viewer',
};

export const roleDescriptions: Readonly<Record<Role, string>> = {
  owner: 'Everything, including owners and the project itself.',
  admin: 'Everything except owners and the project itself.',
  member: 'Tunnels, domains and security groups.',
  viewer: 'Sees everything except tokens and the audit log; changes nothing.',
};

const everyone: readonly Role[] = roles;
const builders: readonly Role[] = ['owner', 'admin', 'member'];
const managers: readonly Role[] = ['owner', 'admin'];
const owners: readonly Role[] = ['owner'];

/** Each action and the roles that may do it. A row that is missing is an action that does not exist. */
export const permissions = {
  'project.read': everyone,
  'project.rename': owners,
  'project.delete': owners,
  'member.read': everyone,
  'member.change': managers,
  'member.remove': managers,
  'member.leave': everyone,
  'invitation.read': managers,
  'invitation.create': managers,
  'invitation.delete': managers,
  'tunnel.read': everyone,
  'tunnel.read-token': builders,
  'tunnel.create': builders,
  'tunnel.update': builders,
  'tunnel.delete': builders,
  'tunnel.rotate-token': builders,
  'domain.read': everyone,
  'domain.create': builders,
  'domain.verify': builders,
  'domain.delete': builders,
  'dns.lookup': everyone,
  'security-group.read': everyone,
  'security-group.create': builders,
  'security-group.update': builders,
  'security-group.delete': builders,
  'api-token.read': builders,
  'api-token.create': builders,
  'api-token.delete': builders,
  'device.approve': everyone,
  'audit.read': managers,
} as const satisfies Readonly<Record<string, readonly Role[]>>;

export type Action = keyof typeof permissions;

/** The public text of a 403. */
export const forbiddenMessage = 'Your role in this project does not allow this.';

export function may(role: Role, action: Action): boolean {
  const allowed: readonly Role[] = Object.hasOwn(permissions, action) ? permissions[action] : [];
  return allowed.includes(role);
}

/** Nobody hands out more than they have: for invitations, API tokens and devices. */
export function mayGrant(granter: Role, granted: Role): boolean {
  return roles.includes(granter) && roles.includes(granted) && roles.indexOf(granted) >= roles.indexOf(granter);
}

export function parseRole(text: string): Parsed<Role> {
  const role = roles.find((candidate) => candidate === text);
  return role === undefined ? refuse(`Role must be one of ${roles.join(', ')}.`) : accept(role);
}

export interface MembershipChange {
  readonly actor: Role;
  readonly isSelf: boolean;
  readonly from: Role;
  /** null: the member leaves or is removed. */
  readonly to: Role | null;
  readonly ownerCount: number;
}

/** Whether a member's role may change, or the member go; the text is a 403's, or a 409's for the last owner. */
export function decideMembershipChange(change: MembershipChange): Parsed<Role | null> {
  if (!mayTouch(change)) return refuse(forbiddenMessage);
  const losesOwner = change.from === 'owner' && change.to !== 'owner';
  if (losesOwner && change.ownerCount <= 1) return refuse(lastOwnerMessage);
  return accept(change.to);
}

export const lastOwnerMessage = 'The last owner cannot leave the project. Make someone else an owner first.';

/** The tunnel as this role may see it. */
export function redactTunnel(tunnel: Tunnel, role: Role): Tunnel {
  if (may(role, 'tunnel.read-token')) return tunnel;
  const { token: _token, ...visible } = tunnel;
  return visible;
}

function mayTouch({ actor, isSelf, from, to }: MembershipChange): boolean {
  if (isSelf) return to === null ? may(actor, 'member.leave') : mayGrant(actor, to);
  const action = to === null ? 'member.remove' : 'member.change';
  return may(actor, action) && mayGrant(actor, from) && (to === null || mayGrant(actor, to));
}
