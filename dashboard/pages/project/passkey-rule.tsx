// Whether the members of a project, or operators, need a passkey.
import { useState } from 'react';
import { messageOf } from '../../api/error.ts';
import { useTask } from '../../api/use-task.ts';
import { Banner } from '../../ui/banner.tsx';
import { Card } from '../../ui/card.tsx';
import { Switch } from '../../ui/input/switch.tsx';

export interface PasskeyRuleCardProps {
  readonly label: string;
  readonly hint: string;
  readonly required: boolean;
  readonly save: (required: boolean) => Promise<unknown>;
}

export function PasskeyRuleCard({ label, hint, required, save }: PasskeyRuleCardProps) {
  const [wanted, setWanted] = useState(required);
  const task = useTask(async (next: boolean) => {
    setWanted(next);
    await save(next).catch((error: unknown) => {
      setWanted(!next);
      throw error;
    });
  });
  return (
    <Card title="Passkeys">
      <div className="grid gap-3">
        <Switch label={label} hint={hint} checked={wanted} disabled={task.busy} onChange={task.run} />
        {task.error !== undefined && (
          <Banner tone="danger" onDismiss={task.dismiss}>
            {messageOf(task.error)}
          </Banner>
        )}
      </div>
    </Card>
  );
}
