import type { Role } from '@underpass/rules/entity/entity.ts';
import type { PasskeyProof } from '@underpass/rules/people/passkey.ts';

/** A signed-in person with a session cookie, or a program with an API token of theirs. */
export interface Caller {
  readonly userId: string;
  readonly email: string;
  readonly firstName: string;
  readonly operator: boolean;
  /** An invitation approved the account: it makes no projects of its own. */
  readonly isInvited: boolean;
  readonly defaultProject: string | null;
  readonly sessionId: string | null;
  /** The session has proven lately who uses it: by its sign-in, or again since. */
  readonly fresh: boolean;
  readonly passkey: PasskeyProof;
  /** An API token sees one project, with at most this role. */
  readonly token: {
    readonly id: string;
    readonly name: string;
    readonly projectId: string;
    readonly role: Role;
    readonly cli: boolean;
  } | null;
}
