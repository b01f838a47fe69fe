// Creates a security group (spec 2, Security groups list).
import { collectErrors } from '@underpass/rules/parsed.ts';
import { parseSecurityGroupName } from '@underpass/rules/security-group-name.ts';
import { parseAllowList } from '@underpass/rules/source-address.ts';
import { text } from '@underpass/rules/text.ts';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { messageOf } from '../../api/error.ts';
import { createSecurityGroup } from '../../api/security-groups.ts';
import { useLeadOn } from '../../api/use-lead-on.ts';
import { usePanelTask } from '../../api/use-task.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Input } from '../../ui/input.tsx';
import { PanelActions, PanelBody, SidePanel } from '../../ui/side-panel.tsx';
import { toast } from '../../ui/toast.tsx';
import { AllowListEditor } from './allow-list-editor.tsx';

export interface NewSecurityGroupPanelProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export function NewSecurityGroupPanel({ open, onOpenChange }: NewSecurityGroupPanelProps) {
  const project = useProject();
  const leadOn = useLeadOn();
  const task = usePanelTask(open, async (name: string, allow: readonly string[]) => {
    await createSecurityGroup(project.id, name, allow);
    toast.done(`Security group ${name} created.`);
    await leadOn(paths.securityGroup(project.id, name));
  });
  return (
    <SidePanel
      open={open}
      onOpenChange={onOpenChange}
      title={text.groups.newTitle}
      description="Only the addresses on the list reach the tunnels of the group."
      busy={task.busy}
    >
      <NewGroupForm busy={task.busy} onCreate={task.run} onCancel={() => onOpenChange(false)}>
        {task.error !== undefined && (
          <Banner tone="danger" title="The security group was not created." onDismiss={task.dismiss}>
            {messageOf(task.error) ?? text.error.fallback}
          </Banner>
        )}
      </NewGroupForm>
    </SidePanel>
  );
}

interface NewGroupFormProps {
  readonly busy: boolean;
  readonly onCreate: (name: string, allow: readonly string[]) => void;
  readonly onCancel: () => void;
  readonly children: React.ReactNode;
}

function NewGroupForm({ busy, onCreate, onCancel, children }: NewGroupFormProps) {
  const ref = useRef<HTMLFormElement>(null);
  const [name, setName] = useState('');
  const [allow, setAllow] = useState<readonly string[]>([]);
  const [pending, setPending] = useState('');
  const [tries, setTries] = useState(0);
  const parsed = { name: parseSecurityGroupName(name), allow: parseAllowList(allow, pending) };
  const errors = tries > 0 ? collectErrors(parsed) : {};
  useEffect(() => {
    if (tries > 0) ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [tries]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTries(tries + 1);
    if (parsed.name.ok && parsed.allow.ok) onCreate(parsed.name.value, parsed.allow.value);
  };
  return (
    <form ref={ref} noValidate onSubmit={submit} className="flex min-h-0 flex-1 flex-col">
      <PanelBody>
        {children}
        <Field label="Name" error={errors.name}>
          {(control) => <Input {...control} autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <AllowListEditor
          label="Allow"
          items={allow}
          onChange={setAllow}
          pending={pending}
          onPendingChange={setPending}
          error={errors.allow}
        />
      </PanelBody>
      <PanelActions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={busy}>
          Create
        </Button>
      </PanelActions>
    </form>
  );
}
