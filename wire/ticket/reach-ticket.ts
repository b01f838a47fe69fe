// What `underpass reach` needs to reach a private tunnel, as one text. Control makes it; the machine that carries the tunnel may add
// its key and a grant, which control and edges do not know (docs/decisions/025).

export interface TicketContent {
  /** What the client dials: https://host[:port][#ca=…]. */
  readonly url: string;
  readonly tunnelId: string;
  /** `PROJECT/TUNNEL`, for people, and for keys that are trusted since the first use. */
  readonly name: string;
  /** What the edge checks: a ticket's secret, or the signed pass of a member. */
  readonly secret: string;
  /** SHA-256 of the certificate of the carrying client, hex. Absent: trusted at the first use. */
  readonly pin?: string;
  /** What the carrying client checks, and no edge ever sees. */
  readonly grant?: string;
}

const prefix = 'reach_';
/** Some 400 characters are usual. */
export const ticketMaxChars = 4_096;

const required = ['url', 'tunnelId', 'name', 'secret'] as const;
const patterns = {
  url: /^https:\/\/[\w.:[\]-]+(?:#ca=[0-9a-f]{64})?$/,
  tunnelId: /^[\w-]{1,64}$/,
  name: /^\P{Cc}{1,400}$/u,
  secret: /^[!-~]{1,512}$/,
  pin: /^[0-9a-f]{64}$/,
  grant: /^[a-z0-9-]{1,63}$/,
} as const satisfies Readonly<Record<keyof TicketContent, RegExp>>;

export const renderTicket = (content: TicketContent): string =>
  `${prefix}${Buffer.from(JSON.stringify(content)).toString('base64url')}`;

/** Null if the text is no ticket. */
export function parseTicket(text: string): TicketContent | null {
  const body = text.trim();
  if (!body.startsWith(prefix) || body.length > ticketMaxChars) return null;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(body.slice(prefix.length), 'base64url').toString());
  } catch {
    return null;
  }
  const given = Object.entries((value ?? {}) as Record<string, unknown>).filter(([name]) => Object.hasOwn(patterns, name));
  const isRight = given.every(([name, part]) => typeof part === 'string' && patterns[name as keyof TicketContent].test(part));
  const content = Object.fromEntries(given) as Partial<TicketContent>;
  return isRight && required.every((name) => content[name] !== undefined) ? (content as TicketContent) : null;
}
