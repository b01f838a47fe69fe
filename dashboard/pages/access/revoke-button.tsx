// Revokes one row of a policy's tab, after a question.

import type { Confirm } from '../../form/use-confirm.tsx';
import { Button } from '../../ui/button.tsx';

/** What the tables of a policy's tabs give to their rows. */
export interface PolicyTableProps<Row> {
  readonly policy: string;
  readonly rows: readonly Row[];
  readonly readOnly: boolean;
  readonly ask: Confirm['ask'];
  readonly reload: () => void;
}

interface RevokeButtonProps extends Pick<PolicyTableProps<never>, 'ask' | 'reload'> {
  readonly name: string;
  readonly title: string;
  readonly warning: string;
  readonly revoke: () => Promise<unknown>;
}

export function RevokeButton({ name, title, warning, revoke, ask, reload }: RevokeButtonProps) {
  const open = () =>
    ask({
      title,
      warning: `${warning} This operation is permanent.`,
      confirmLabel: 'Revoke',
      work: async () => {
        await revoke();
        reload();
      },
      done: `${name} revoked.`,
    });
  return (
    <Button size="sm" onClick={open} aria-label={`Revoke ${name}`}>
      Revoke
    </Button>
  );
}
