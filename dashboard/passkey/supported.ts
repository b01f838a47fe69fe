// Whether this browser can use passkeys here: it needs https, or localhost. The build, which has no browser, assumes that it can.

export const supportsPasskeys = (): boolean => typeof window === 'undefined' || typeof window.PublicKeyCredential === 'function';
