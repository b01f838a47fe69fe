// One line of the access log, in the "combined" format of Apache and nginx, or with the host in front ("vhost_combined").
// A line is printable ASCII whatever a visitor sends, so no visitor can write a line of their own.

export const accessFormats = ['combined', 'vhost_combined'] as const;
export type AccessFormat = (typeof accessFormats)[number];

/** A request that has its answer, as texts. */
export interface AccessEntry {
  readonly atMs: number;
  readonly address: string;
  readonly host: string;
  /** Empty if the edge could not read the request. */
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly status: number;
  /** Bytes of the answer's body. */
  readonly bytes: number;
  readonly referer: string;
  readonly agent: string;
}

/**
 * Characters of an escaped field. All fields together stay below 4096 bytes, which a pipe takes whole (PIPE_BUF): lines of
 * several workers do not mix.
 */
const most = { host: 255, method: 24, target: 2_048, referer: 700, agent: 700 };

/** Escapes as nginx does: `"`, `\` and whatever is not printable ASCII becomes \xHH. An empty field is a hyphen. */
const escapeField = (text: string, mostChars: number): string => (text === '' ? '-' : escapeText(text, mostChars));

/** The same; an empty text stays empty. */
export function escapeText(text: string, mostChars: number): string {
  const escaped = isPlain(text) ? text : text.replace(/["\\]|[^ -~]/g, hexOf);
  return escaped.length <= mostChars ? escaped : `${escaped.slice(0, mostChars - 3).replace(/\\(x[0-9A-F]?)?$/, '')}...`;
}

const isPlain = (text: string): boolean => /^[ !#-[\]-~]*$/.test(text);

/** Texts of a request are latin1: one character for each byte. A character of another text is cut to its low byte. */
const hexOf = (character: string): string => `\\x${(character.charCodeAt(0) & 255).toString(16).toUpperCase().padStart(2, '0')}`;

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `27/Nov/2026:13:55:36 +0000`, always in UTC. */
export function renderLogTime(atMs: number): string {
  const iso = new Date(atMs).toISOString();
  return `${iso.slice(8, 10)}/${months[Number(iso.slice(5, 7)) - 1]}/${iso.slice(0, 4)}:${iso.slice(11, 19)} +0000`;
}

/** Renders lines; it makes the text of a second once. */
export function createAccessRenderer(format: AccessFormat, port: number): (entry: AccessEntry) => string {
  let second = Number.NaN;
  let time = '';
  return (entry) => {
    const now = Math.floor(entry.atMs / 1_000);
    if (now !== second) {
      second = now;
      time = renderLogTime(entry.atMs);
    }
    const front = format === 'combined' ? '' : `${escapeField(entry.host, most.host)}:${port} `;
    return `${front}${entry.address} - - [${time}] "${requestOf(entry)}" ${entry.status} ${entry.bytes} "${escapeField(entry.referer, most.referer)}" "${escapeField(entry.agent, most.agent)}"\n`;
  };
}

/** Readers split it at spaces; a target has none (RFC 9112 3.2). */
function requestOf({ method, target, version }: AccessEntry): string {
  if (method === '') return '-';
  return `${escapeField(method, most.method)} ${escapeField(target, most.target).replaceAll(' ', '\\x20')} HTTP/${version}`;
}
