// The roles that a user may grant, as options of a form.
import type { Role } from '@underpass/rules/entity/entity.ts';
import { mayGrant, roleDescriptions, roleLabels, roles } from '@underpass/rules/people/permission.ts';

interface RoleOption {
  readonly value: Role;
  readonly label: string;
  readonly description: string;
}

export function grantableRoles(granter: Role): readonly RoleOption[] {
  return roles
    .filter((role) => mayGrant(granter, role))
    .map((role) => ({ value: role, label: roleLabels[role], description: roleDescriptions[role] }));
}
