// Random bearer tokens, and the hash that the database keeps of them.

import { createHash, randomBytes } from 'node:crypto';

// 256 random bits and no fixed prefix, because screens mask the first 8 characters.
const tokenBytes = 32;
/** The length of 32 bytes in base64url. A text of another length is not one of our tokens. */
export const tokenLength = 43;

/** Whether a text from a caller can be one. Postgres refuses other texts, such as those with a zero byte. */
export const isToken = (text: string): boolean => text.length === tokenLength && /^[\w-]+$/.test(text);

export const createToken = (): string => randomBytes(tokenBytes).toString('base64url');

/** SHA-256, hex. A fast hash is safe because the input has 256 random bits. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');
