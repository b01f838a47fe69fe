// The path to which an OpenID Connect provider sends visitors back.

/**
 * Each issuer of a project has its own. With a shared one, a malicious provider could collect the codes that another one issues, in
 * this project or in another (the mix-up attack, RFC 9700 4.4.2.2).
 */
export const providerCallbackPath = (projectId: string, issuer: string): string =>
  `/access/oidc/callback/${projectId}/${segmentOf(issuer)}`;

/** Different for different issuers, which are ASCII (parse-provider.ts): every other character becomes `_` and its code. */
const segmentOf = (issuer: string): string =>
  issuer
    .replace(/^https:\/\//, '')
    .replace(/[^A-Za-z0-9.-]/g, (letter) => `_${letter.charCodeAt(0).toString(16).padStart(2, '0')}`);
