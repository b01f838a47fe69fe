// The name of a project, new or changed.
import { accept, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseProjectName } from '@underpass/rules/text/project-name.ts';
import { FormFailure } from '../../form/form-failure.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { Button } from '../../ui/button.tsx';

export interface ProjectNameFormProps {
  readonly initialName: string;
  readonly submitLabel: string;
  readonly send: (name: string) => Promise<unknown>;
}

function parseFields({ name }: { readonly name: string }): ParsedForm<string, 'name'> {
  const parsed = parseProjectName(name);
  return parsed.ok ? accept(parsed.value) : { ok: false, errors: { name: parsed.message } };
}

export function ProjectNameForm({ initialName, submitLabel, send }: ProjectNameFormProps) {
  const form = useForm({ initial: { name: initialName }, parse: parseFields, send });
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
