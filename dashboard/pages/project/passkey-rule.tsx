// Whether the members of a project, or operators, need a passkey.
import { Failure } from '../../api/failure.tsx';
import { useSaved } from '../../api/use-saved.ts';
import { Card } from '../../ui/card.tsx';
import { Switch } from '../../ui/input/switch.tsx';

interface PasskeyRuleCardProps {
  readonly label: string;
  readonly hint: string;
  readonly required: boolean;
  readonly save: (required: boolean) => Promise<unknown>;
}

export function PasskeyRuleCard({ label, hint, required, save }: PasskeyRuleCardProps) {
  const { value: wanted, task } = useSaved(required, save);
  return (
    <Card title="Passkeys">
      <div className="grid gap-3">
        <Switch label={label} hint={hint} checked={wanted} disabled={task.busy} onChange={task.run} />
        <Failure task={task} />
      </div>
    </Card>
  );
}
