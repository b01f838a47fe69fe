import type { Role } from '@underpass/rules/entity.ts';

/** Who is calling, by session cookie or API token. */
export interface Caller {
  readonly userId: string;
  readonly email: string;
  readonly firstName: string;
  readonly operator: boolean;
  readonly defaultProject: string | null;
  readonly sessionId: string | null;
  /** An API token sees one project, with at most this role. */
  readonly token: { readonly projectId: string; readonly role: Role } | null;
}
