// Whether this browser can use passkeys here: it needs https, or localhost.

export const supportsPasskeys = (): boolean => typeof window.PublicKeyCredential === 'function';
