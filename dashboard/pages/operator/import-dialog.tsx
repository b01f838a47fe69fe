// Imports rows of an operator list from a CSV file or from pasted lines.
import { bodyMaxBytes } from '@underpass/rules/limits.ts';
import { accept, type ParsedForm } from '@underpass/rules/parsed.ts';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { DialogForm, formDialog, type InOverlay } from '../../form/overlay-form.tsx';
import { type Form, useForm } from '../../form/use-form.ts';
import { Banner } from '../../ui/banner.tsx';
import { Field } from '../../ui/input/field.tsx';
import { Input, Textarea } from '../../ui/input/input.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

/** What is imported. */
export interface Importing {
  readonly title: string;
  readonly description: string;
  readonly noun: string;
  readonly example: string;
  readonly send: (csv: string) => Promise<{ readonly imported: number; readonly problems?: readonly string[] }>;
}

interface ImportFormProps {
  readonly of: Importing;
}

export const ImportDialog = formDialog(
  ({ of: { title, description } }: ImportFormProps) => ({ title, description, className: 'max-w-2xl' }),
  ImportForm,
);

interface ImportValues {
  readonly csv: string;
}

function parseImport({ csv }: ImportValues): ParsedForm<string, 'csv'> {
  if (new Blob([csv]).size <= bodyMaxBytes.csv) return accept(csv);
  const limit = `The limit is ${bodyMaxBytes.csv / 1024 / 1024} MB. Import the lines in several parts.`;
  return { ok: false, errors: { csv: limit } };
}

function ImportForm({ of, onDone }: ImportFormProps & InOverlay) {
  const [problems, setProblems] = useState<readonly string[]>([]);
  const { revalidate } = useRevalidator();
  const form = useForm({
    initial: { csv: '' },
    parse: parseImport,
    send: async (csv: string) => {
      const { imported, problems: found = [] } = await of.send(csv);
      setProblems(found);
      toast.done(`${imported} ${imported === 1 ? of.noun : `${of.noun}s`} imported.`);
      if (found.length === 0) onDone();
      await revalidate();
    },
  });
  return (
    <DialogForm form={form} submitLabel="Import" ready={form.values.csv.trim() !== ''} onCancel={onDone}>
      {problems.length > 0 && <RejectedLines problems={problems} />}
      <ImportFields form={form} example={of.example} />
    </DialogForm>
  );
}

function ImportFields({ form, example }: { readonly form: Form<ImportValues>; readonly example: string }) {
  return (
    <>
      <Field label="File">
        {(control) => (
          <Input
            {...control}
            type="file"
            accept=".csv,text/csv,text/plain"
            className="py-2 text-sm"
            onChange={async (event) => form.set('csv', (await event.target.files?.[0]?.text()) ?? '')}
          />
        )}
      </Field>
      <Field label="Lines" error={form.errors.csv}>
        {(control) => (
          <Textarea
            {...control}
            rows={8}
            spellCheck={false}
            placeholder={example}
            className="font-mono text-sm"
            value={form.values.csv}
            onChange={(event) => form.set('csv', event.target.value)}
          />
        )}
      </Field>
    </>
  );
}

/** The valid lines are imported. The operator can correct the others in place and import again. */
function RejectedLines({ problems }: { readonly problems: readonly string[] }) {
  return (
    <Banner tone="warn" title="Some lines were not imported.">
      <ul className="max-h-40 overflow-y-auto text-sm">
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </Banner>
  );
}
