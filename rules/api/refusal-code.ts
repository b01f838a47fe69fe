// Codes of refusals that callers act on. They come in the header `Underpass-Error`, as those of an edge do; docs/errors.md
// explains them. Other refusals have a status and a sentence only.

export const errorHeader = 'Underpass-Error';

/** The call needs a signed-in browser. */
export const sessionNeededCode = 'UNDERPASS_SESSION_NEEDED';
/** The call needs a session that has lately proven who uses it. */
export const proofNeededCode = 'UNDERPASS_PROOF_NEEDED';
/** The call needs a session that a passkey or a recovery code has proven. */
export const passkeyNeededCode = 'UNDERPASS_PASSKEY_NEEDED';
