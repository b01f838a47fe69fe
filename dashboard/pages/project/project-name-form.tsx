// The name of a project, new or changed.
import { acceptField } from '@underpass/rules/parsed.ts';
import { parseProjectName } from '@underpass/rules/text/project-name.ts';
import { FormFailure } from '../../form/form-failure.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { Button } from '../../ui/button.tsx';

interface ProjectNameFormProps {
  readonly initialName: string;
  readonly submitLabel: string;
  readonly send: (name: string) => Promise<unknown>;
}

export function ProjectNameForm({ initialName, submitLabel, send }: ProjectNameFormProps) {
  const form = useForm({
    initial: { name: initialName },
    parse: ({ name }) => acceptField('name', parseProjectName(name)),
    send,
  });
  const unchanged = form.values.name.trim() === initialName;
  return (
    <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid max-w-md gap-4">
      <FormFailure form={form} />
      <TextField form={form} name="name" label="Name" autoComplete="off" />
      <div>
        <Button type="submit" variant="primary" busy={form.busy} disabled={initialName !== '' && unchanged}>
          {submitLabel}
        </Button>
      </div>
    </form>
  );
}
