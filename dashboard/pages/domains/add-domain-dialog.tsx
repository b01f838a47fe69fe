// Registers a domain (spec 2, Domains list). A 400 is the name's fault and is shown under it; anything else above the form.
import { parseApexDomain } from '@underpass/rules/apex-domain.ts';
import { text } from '@underpass/rules/text.ts';
import { type FormEvent, useRef, useState } from 'react';
import { createDomain } from '../../api/domains.ts';
import { isApiError, messageOf } from '../../api/error.ts';
import { useLeadOn } from '../../api/use-lead-on.ts';
import { useTask } from '../../api/use-task.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogActions } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Input } from '../../ui/input.tsx';
import { toast } from '../../ui/toast.tsx';

export interface AddDomainDialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export function AddDomainDialog({ open, onOpenChange }: AddDomainDialogProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="Add Domain"
      description="You prove that it is yours by a TXT record, which comes next."
      flush
    >
      <AddDomainForm onCancel={() => onOpenChange(false)} />
    </Dialog>
  );
}

function AddDomainForm({ onCancel }: { readonly onCancel: () => void }) {
  const project = useProject();
  const leadOn = useLeadOn();
  const input = useRef<HTMLInputElement>(null);
  const [name, setName] = useState('');
  const [refusal, setRefusal] = useState<string>();
  const task = useTask(async (apexName: string) => {
    const domain = await createDomain(project.id, apexName);
    toast.done(`Domain ${domain.apexName} added.`);
    await leadOn(paths.domain(project.id, domain.apexName));
  });
  const badRequest = isApiError(task.error) && task.error.status === 400 ? task.error.message : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = parseApexDomain(name);
    setRefusal(parsed.ok ? undefined : parsed.message);
    if (parsed.ok) task.run(parsed.value);
    else input.current?.focus();
  };
  const type = (typed: string) => {
    setName(typed);
    setRefusal(undefined);
    task.dismiss();
  };
  return (
    <form noValidate onSubmit={submit}>
      <div className="grid gap-4 px-5 pb-5 sm:px-6 sm:pb-6">
        {task.error !== undefined && badRequest === undefined && (
          <Banner tone="danger" title="The domain was not added." onDismiss={task.dismiss}>
            {messageOf(task.error) ?? text.error.fallback}
          </Banner>
        )}
        <Field label="Name" error={refusal ?? badRequest}>
          {(control) => (
            <Input
              {...control}
              ref={input}
              mono
              placeholder="example.com"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              value={name}
              onChange={(event) => type(event.target.value)}
            />
          )}
        </Field>
      </div>
      <DialogActions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={task.busy}>
          Create
        </Button>
      </DialogActions>
    </form>
  );
}
