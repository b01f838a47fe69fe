// When a certificate is due. Pure. Renewal at two thirds of its life leaves a third to find out that something is wrong.

export interface Lifetime {
  readonly startsAt: number;
  readonly expiresAt: number;
}

export const renewAt = ({ startsAt, expiresAt }: Lifetime): number => startsAt + Math.floor(((expiresAt - startsAt) * 2) / 3);

export const isDue = (lifetime: Lifetime, nowMs: number): boolean => nowMs >= renewAt(lifetime);
