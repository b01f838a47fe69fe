// How a token is shown: its first eight characters as asterisks (spec 2, Connect section; spec 9).

export const maskedTokenChars = 8;

export function maskToken(token: string): string {
  const hidden = Math.min(maskedTokenChars, token.length);
  return '*'.repeat(hidden) + token.slice(hidden);
}
