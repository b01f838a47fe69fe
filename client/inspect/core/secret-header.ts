// Which headers may hold a secret: hidden on the page, in JSON and in exports until the user asks for them.

const secretNames = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-csrf-token',
  'x-xsrf-token',
  'x-amz-security-token',
]);

/** Names that programs give to keys: `X-Api-Key`, `apikey`, `X-Auth-Token`, `Cf-Access-Client-Secret`. A signature is no secret. */
const secretWords = /(^|[-_])(api-?key|access-?key|auth|token|secret|password|passwd|session(-?id)?)($|[-_])/i;

export function isSecretHeader(name: string): boolean {
  return secretNames.has(name.toLowerCase()) || secretWords.test(name);
}
