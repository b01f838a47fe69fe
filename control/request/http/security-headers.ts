// Headers of every answer: they limit what our pages may load, and forbid framing, type sniffing and referrers.

const turnstileOrigin = 'https://challenges.cloudflare.com';

function contentPolicy(withTurnstile: boolean): string {
  const turnstile = withTurnstile ? ` ${turnstileOrigin}` : '';
  return [
    "default-src 'none'",
    `script-src 'self'${turnstile}`,
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    `frame-src${turnstile === '' ? " 'none'" : turnstile}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');
}

export interface HeaderSettings {
  readonly origin: string;
  readonly withTurnstile: boolean;
}

export const securityHeaders = (settings: HeaderSettings): readonly (readonly [string, string])[] => [
  ['content-security-policy', contentPolicy(settings.withTurnstile)],
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'],
  // Some pages have one-time tokens in their addresses.
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
  ...(settings.origin.startsWith('https:')
    ? [['strict-transport-security', 'max-age=63072000; includeSubDomains'] as const]
    : []),
];
