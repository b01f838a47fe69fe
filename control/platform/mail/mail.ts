// One mail, and what sends it.

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The address of RFC 8058: a POST there ends such mails. */
  readonly unsubscribe?: string;
}

/** The fields that mail programs make a button of (RFC 2369 3.2, RFC 8058 3.1). */
export const unsubscribeFields = ({ unsubscribe }: Mail): Readonly<Record<string, string>> =>
  unsubscribe === undefined
    ? {}
    : { 'List-Unsubscribe': `<${unsubscribe}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };

/** Delivers or throws; bounded in time. */
export type SendMail = (mail: Mail) => Promise<void>;

/** A mail of the development mailbox. */
export interface KeptMail extends Mail {
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
}
