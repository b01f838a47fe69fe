// The keys that encrypt TLS session tickets. All workers of an edge hold the same ones, so a visitor may resume at any of them.

import { randomBytes } from 'node:crypto';
import { hourMs } from '@underpass/rules/limits.ts';

/** A session that began under older keys needs a full handshake. */
export const ticketKeysMs: number = 12 * hourMs;

/** OpenSSL takes 48 bytes: 16 each for the name, the HMAC key and the AES key. */
export const createTicketKeys = (): Buffer => randomBytes(48);
