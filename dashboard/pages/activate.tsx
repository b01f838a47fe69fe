// Signs in a command line client: the code from the terminal, the client that asks, and the answer.
import { accountCalls } from '@underpass/rules/api/account-calls.ts';
import type { Project, Role } from '@underpass/rules/entity/entity.ts';
import type { Device } from '@underpass/rules/entity/resource.ts';
import { acceptField } from '@underpass/rules/parsed.ts';
import { parseUserCode } from '@underpass/rules/people/device-code.ts';
import { mayGrant } from '@underpass/rules/people/permission.ts';
import { useEffect, useState } from 'react';
import { askFor } from '../api/answers.ts';
import { isApiError, messageOf } from '../api/error.ts';
import { Failure } from '../api/failure.tsx';
import { callApi } from '../api/request.ts';
import { useFetched } from '../api/use-fetched.ts';
import { useTask } from '../api/use-task.ts';
import { TextField } from '../form/text-field.tsx';
import { useForm } from '../form/use-form.ts';
import { useShell } from '../session/session.ts';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { DateTime } from '../ui/date/date-time.tsx';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { RadioCards } from '../ui/input/radio-cards.tsx';
import { SelectField } from '../ui/input/select-field.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { LoadingArea } from '../ui/spinner.tsx';
import { grantableRoles } from './project/role-options.ts';

type Outcome = 'approved' | 'denied';

export function Component() {
  const [code, setCode] = useState<string>();
  const [outcome, setOutcome] = useState<Outcome>();
  return (
    <div className="mx-auto max-w-xl">
      <PageHeader title="Sign in a terminal" />
      {outcome && <OutcomeNote outcome={outcome} />}
      {!outcome && code === undefined && <CodeForm onCode={setCode} />}
      {!outcome && code !== undefined && (
        <DeviceQuestion code={code} onOutcome={setOutcome} onOtherCode={() => setCode(undefined)} />
      )}
    </div>
  );
}

function OutcomeNote({ outcome }: { readonly outcome: Outcome }) {
  if (outcome === 'approved') {
    return (
      <Banner tone="ok" title="The terminal is signed in.">
        Continue there. You can close this page.
      </Banner>
    );
  }
  return <Banner title="You denied the request.">The terminal stays signed out. You can close this page.</Banner>;
}

function CodeForm({ onCode }: { readonly onCode: (code: string) => void }) {
  const form = useForm({
    initial: { code: '' },
    parse: ({ code }) => acceptField('code', parseUserCode(code)),
    asks: false,
    send: async (code) => onCode(code),
  });
  return (
    <Card>
      <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid gap-5">
        <TextField
          form={form}
          name="code"
          label="Code"
          hint="Run ‘underpass login’ in a terminal to get a code."
          mono
          autoFocus
          autoComplete="one-time-code"
          autoCapitalize="characters"
          spellCheck={false}
          className="h-12 text-xl! tracking-widest uppercase"
        />
        <div>
          <Button type="submit" variant="primary">
            Continue
          </Button>
        </div>
      </form>
    </Card>
  );
}

interface DeviceQuestionProps {
  readonly code: string;
  readonly onOutcome: (outcome: Outcome) => void;
  readonly onOtherCode: () => void;
}

function DeviceQuestion({ code, onOutcome, onOtherCode }: DeviceQuestionProps) {
  const { data: device, error, reload, busy } = useFetched(askFor(accountCalls.getDevice, { userCode: code }));
  const { projects } = useShell();
  if (isApiError(error) && error.status === 404) return <UnknownCode code={code} onOtherCode={onOtherCode} />;
  if (error !== undefined) return <ErrorPanel message={messageOf(error)} onRetry={reload} busy={busy} />;
  if (!device) return <LoadingArea />;
  if (projects.length === 0)
    return <Banner tone="warn">You're not in a project yet. Create one, or ask a project owner to invite you.</Banner>;
  return <Decision code={code} device={device} onOutcome={onOutcome} />;
}

function UnknownCode({ code, onOtherCode }: { readonly code: string; readonly onOtherCode: () => void }) {
  return (
    <div className="grid gap-4">
      <Banner tone="warn" title={`Code ${code} is not valid.`}>
        Codes expire after a few minutes. Run ‘underpass login’ again for a new one.
      </Banner>
      <div>
        <Button onClick={onOtherCode}>Enter another code</Button>
      </div>
    </div>
  );
}

interface DecisionProps {
  readonly code: string;
  readonly device: Device;
  readonly onOutcome: (outcome: Outcome) => void;
}

function Decision({ code, device, onOutcome }: DecisionProps) {
  const { projects, project: selected } = useShell();
  const [projectId, setProjectId] = useState((selected ?? projects[0]!).id);
  const project = projects.find(({ id }) => id === projectId)!;
  const [role, setRole] = useState<Role>(suggestedRole(project));
  useEffect(() => setRole(suggestedRole(project)), [project]);
  const task = useTask(async (approve: boolean) => {
    if (approve) await callApi(accountCalls.approveDevice, { userCode: code, project: projectId, payload: { role } });
    else await callApi(accountCalls.denyDevice, { userCode: code });
    onOutcome(approve ? 'approved' : 'denied');
  });
  return (
    <Card
      title="Sign in this terminal?"
      description="Approve only if you just ran ‘underpass login’ and your own terminal shows this code. If someone sent you the code, deny."
    >
      <div className="grid gap-5">
        <DeviceFacts code={code} device={device} />
        <SelectField
          label="Project"
          value={projectId}
          options={projects.map(({ id, name }) => ({ value: id, label: name }))}
          onChange={setProjectId}
        />
        <RadioCards label="Role of the terminal" value={role} options={grantableRoles(project.role)} onChange={setRole} />
        <Failure task={task} />
        <div className="flex flex-wrap gap-2">
          <Button variant="primary" busy={task.busy} onClick={() => task.run(true)}>
            Approve
          </Button>
          <Button disabled={task.busy} onClick={() => task.run(false)}>
            Deny
          </Button>
        </div>
      </div>
    </Card>
  );
}

/** Members can work with tunnels; a higher role is the user's choice. */
const suggestedRole = (project: Project): Role => (mayGrant(project.role, 'member') ? 'member' : project.role);

function DeviceFacts({ code, device }: { readonly code: string; readonly device: Device }) {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1.5 rounded-md bg-sunken px-4 py-3 [&>dt]:text-ink-soft">
      <dt>Code</dt>
      <dd className="font-mono text-lg font-bold tracking-widest">{code}</dd>
      <dt>It calls itself</dt>
      <dd className="wrap-anywhere">‘{device.name}’</dd>
      <dt>Requested from</dt>
      <dd className="font-mono text-sm leading-6 wrap-anywhere">{device.address}</dd>
      <dt>Requested at</dt>
      <dd>
        <DateTime at={device.createdAt} />
      </dd>
    </dl>
  );
}
