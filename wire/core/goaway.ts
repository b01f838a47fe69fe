// GOAWAY: its payload, and the states of a session that follow from it. docs/protocol.md 8, Leaving.

import { type GoawayCode, goawayCodeOf, goawayCodes } from './code.ts';
import { readU16, writeU16 } from './frame.ts';

/** The payload holds 512 bytes with the code; text is cut well below that. */
const maxDetailBytes = 400;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeGoaway(code: GoawayCode, detail: string): Uint8Array {
  const text = encoder.encode(detail).subarray(0, maxDetailBytes);
  const payload = new Uint8Array(2 + text.length);
  writeU16(payload, 0, goawayCodes[code]);
  payload.set(text, 2);
  return payload;
}

interface Goaway {
  readonly code: GoawayCode;
  /** Text for the log. */
  readonly detail: string;
}

export const parseGoaway = (payload: Uint8Array): Goaway => ({
  code: goawayCodeOf(readU16(payload, 0)),
  detail: decoder.decode(payload.subarray(2)),
});

/**
 * Which side has sent GOAWAY. Streams may be opened only in `open`; open streams go on until `closed`. A session in
 * `both-leaving` closes once its last stream is over, any other when its carrier ends or a rule is broken.
 */
export type SessionState = 'open' | 'leaving' | 'peer-leaving' | 'both-leaving' | 'closed';

/** The state after a GOAWAY of either side. Null: that side has sent its one GOAWAY, or the session is closed. */
export const afterGoaway: Readonly<Record<'ours' | 'theirs', Readonly<Record<SessionState, SessionState | null>>>> = {
  ours: { open: 'leaving', leaving: null, 'peer-leaving': 'both-leaving', 'both-leaving': null, closed: null },
  theirs: { open: 'peer-leaving', leaving: 'both-leaving', 'peer-leaving': null, 'both-leaving': null, closed: null },
};
