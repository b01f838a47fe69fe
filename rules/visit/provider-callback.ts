// Where an OpenID Connect provider sends its visitors back to.

/**
 * One address for each project: a provider that another project chose could otherwise have this project's provider send a visitor's
 * code to it (the mix-up attack, RFC 9700 4.4.2.2).
 */
export const providerCallbackPath = (projectId: string): string => `/access/oidc/callback/${projectId}`;
