// The detail of an audit entry as one line: names and values, lists with commas. Pure.

const maxChars = 200;

export function describeDetail(detail: Readonly<Record<string, unknown>>): string {
  const line = Object.entries(detail)
    .map(([name, value]) => `${spaced(name)}: ${describeValue(value)}`)
    .join('; ');
  return line.length > maxChars ? `${line.slice(0, maxChars - 1)}…` : line;
}

/** `ingressDomains` reads as `ingress domains`. */
const spaced = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(describeValue).join(', ');
  if (value === '' || value === null || value === undefined) return 'none';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
