// A person's own alert mails, and the waiting time of the project.
import { alertCalls } from '@underpass/rules/api/alert-calls.ts';
import { alertLimits } from '@underpass/rules/limits.ts';
import { Failure } from '../../api/failure.tsx';
import { callApi } from '../../api/request.ts';
import { useSaved } from '../../api/use-saved.ts';
import { useProject } from '../../session/session.ts';
import { Card } from '../../ui/card.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

export function MailCard({ mail }: { readonly mail: boolean }) {
  const project = useProject();
  const { value, task } = useSaved(mail, async (wanted) => {
    await callApi(alertCalls.changeAlertMail, { project: project.id, payload: { mail: wanted } });
    toast.done(wanted ? 'You get alert mails.' : 'You get no alert mails.');
  });
  return (
    <Card title="Your mails">
      <div className="grid gap-3">
        <Switch
          label="Mail me about alerts"
          hint={`At once, then at most one mail in ${alertLimits.digestMinutes} minutes. Only for you, in this project.`}
          checked={value}
          disabled={task.busy}
          onChange={task.run}
        />
        <Failure task={task} />
      </div>
    </Card>
  );
}

const waitingTimes = [
  { value: '30', label: '30 seconds' },
  { value: '60', label: '1 minute' },
  { value: '120', label: '2 minutes' },
  { value: '300', label: '5 minutes' },
  { value: '900', label: '15 minutes' },
  { value: '3600', label: '1 hour' },
] as const;

/** A value that the API set is a choice too. */
const choicesWith = (seconds: string): readonly { readonly value: string; readonly label: string }[] =>
  waitingTimes.some(({ value }) => value === seconds)
    ? waitingTimes
    : [...waitingTimes, { value: seconds, label: `${seconds} seconds` }];

export function WaitingTimeCard({ waitSeconds }: { readonly waitSeconds: number }) {
  const project = useProject();
  const { value, task } = useSaved(String(waitSeconds), async (seconds) => {
    await callApi(alertCalls.changeAlertSettings, { project: project.id, payload: { waitSeconds: Number(seconds) } });
    toast.done('Waiting time saved.');
  });
  return (
    <Card title="Waiting time" description="How long a tunnel of this project may be down before an alert opens.">
      <div className="grid max-w-xs gap-3">
        <SelectField label="Alert after" value={value} options={choicesWith(value)} disabled={task.busy} onChange={task.run} />
        <Failure task={task} />
      </div>
    </Card>
  );
}
