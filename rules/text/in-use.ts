// The text of a refusal to delete what tunnels still use: 409 with text that names the tunnels.

const namedAtMost = 5;

export function renderInUse(
  thing: 'Domain' | 'Security group' | 'Access policy',
  name: string,
  tunnels: readonly string[],
): string {
  const named = tunnels.slice(0, namedAtMost).map((tunnel) => `'${tunnel}'`);
  const more = tunnels.length - named.length;
  const list = [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
  return `${thing} '${name}' is in use by ${tunnels.length === 1 ? 'tunnel' : 'tunnels'} ${list}`;
}
