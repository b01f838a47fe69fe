// The path to which an OpenID Connect provider sends visitors back.

/**
 * Each project has its own. With a shared one, a malicious provider of another project could collect the codes that this project's
 * provider issues (the mix-up attack, RFC 9700 4.4.2.2).
 */
export const providerCallbackPath = (projectId: string): string => `/access/oidc/callback/${projectId}`;
