// One mail, and what sends it.

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Delivers or throws; bounded in time. */
export type SendMail = (mail: Mail) => Promise<void>;

/** A mail of the development mailbox. */
export interface KeptMail extends Mail {
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
}
