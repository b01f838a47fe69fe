// The bounds of a certificate that a project gives for an ingress domain, and when its end is near.

export const certificateLimits = {
  /** A chain of three RSA certificates with many names has 15,000. */
  chainChars: 64 * 1024,
  keyChars: 16 * 1024,
  chainCertificates: 10,
  rsaBitsLeast: 2048,
  /** A signature by twice as many bits takes six times as long, and the edges make one for each visitor. */
  rsaBitsMost: 4096,
  shownNames: 20,
  /** Days before its end at which its people hear of it. */
  warnDays: [30, 7, 1],
} as const;
