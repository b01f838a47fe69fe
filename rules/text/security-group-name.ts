// Which security groups a project has from its start (spec 5, Security group name). The syntax of names is in object-name.ts.

/** Seeded in every project, cannot be deleted, and is what a tunnel gets when nothing else is chosen. */
export const defaultSecurityGroupName = 'default';

export function mayDeleteSecurityGroup(name: string): boolean {
  return name !== defaultSecurityGroupName;
}

/** What the update panel offers: the project's groups, or `default` if there are none (spec 2, Update tunnel panel). */
export function securityGroupChoices(names: readonly string[]): readonly string[] {
  return names.length === 0 ? [defaultSecurityGroupName] : names;
}
