/** Somebody did something too often. The message is the public text; the API answers 429. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached';
  readonly retryAfterSeconds: number;

  constructor(publicText: string, retryAfterSeconds: number) {
    super(publicText);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
