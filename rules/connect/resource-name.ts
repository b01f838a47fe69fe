// The name that a tunnel's files, unit and Kubernetes objects get: a DNS label that is also a safe file name.

/** Label values have at most 63 characters (Kubernetes), `underpass-` included. */
const resourceNameMaxChars = 52;

/** Different tunnels get different names: a hash replaces the difference that cutting or replacing removes. */
export function resourceName(tunnelName: string): string {
  const label = tunnelName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  if (label === tunnelName && label !== '' && label.length <= resourceNameMaxChars) return label;
  const hash = fnv1a(tunnelName).toString(16).padStart(8, '0');
  const kept = label.slice(0, resourceNameMaxChars - 9).replace(/-+$/, '');
  return kept === '' ? `t-${hash}` : `${kept}-${hash}`;
}

/** 32-bit FNV-1a over UTF-16 units: two names of one project, not adversaries, are to differ. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
