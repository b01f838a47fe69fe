// Byte tables that the head parsers scan with. RFC 9110 5.6.2 (token), 5.5 (field value).

/** 0 for a byte that a token must not have; else its lower case, with every mark folded to "-". */
export const fold: Uint8Array = buildFold();
/** 1 for a byte that a field value may have: htab, sp, VCHAR, obs-text. */
export const valueByte: Uint8Array = buildRange((c) => c === 9 || (c >= 0x20 && c !== 0x7f));
/** 1 for a byte that a request target may have: VCHAR but "#". Browsers send `"`, "<", ">", "\", "^", "`", "{", "|" and "}", so they pass. */
export const targetByte: Uint8Array = buildRange((c) => c > 0x20 && c < 0x7f && c !== 0x23);

export const cr = 13;
export const lf = 10;
export const sp = 32;
export const htab = 9;
export const colonSign = 58;

function buildRange(holds: (octet: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, octet) => (holds(octet) ? 1 : 0));
}

function buildFold(): Uint8Array {
  const table = new Uint8Array(256);
  for (const mark of "!#$%&'*+-.^_`|~") table[mark.charCodeAt(0)] = 45;
  for (let digit = 48; digit <= 57; digit++) table[digit] = digit;
  for (let letter = 97; letter <= 122; letter++) {
    table[letter] = letter;
    table[letter - 32] = letter;
  }
  return table;
}

/** Lower-case ASCII text of a span. */
export function lowerText(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let i = start; i < end; i++) {
    const octet = bytes[i] as number;
    text += String.fromCharCode(octet >= 65 && octet <= 90 ? octet + 32 : octet);
  }
  return text;
}

/** True if the span is `word` in any letter case. `word` is lower case. */
export function spanIs(bytes: Uint8Array, start: number, end: number, word: string): boolean {
  if (end - start !== word.length) return false;
  for (let i = 0; i < word.length; i++) {
    const octet = bytes[start + i] as number;
    const lower = octet >= 65 && octet <= 90 ? octet + 32 : octet;
    if (lower !== word.charCodeAt(i)) return false;
  }
  return true;
}
