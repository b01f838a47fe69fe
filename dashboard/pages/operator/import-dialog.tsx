// Imports subscriptions from a CSV file or from pasted lines.
import { bodyMaxBytes } from '@underpass/rules/limits.ts';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { messageOf } from '../../api/error.ts';
import { importSubscriptions } from '../../api/operator.ts';
import { useTask } from '../../api/use-task.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Input, Textarea } from '../../ui/input.tsx';
import { toast } from '../../ui/toast.tsx';

export function ImportDialog({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const [csv, setCsv] = useState('');
  const { revalidate } = useRevalidator();
  const task = useTask(async () => {
    const result = await importSubscriptions(csv);
    onClose();
    setCsv('');
    toast.done('Subscriptions imported.', describeImport(result));
    await revalidate();
  });
  const tooLarge = new Blob([csv]).size > bodyMaxBytes.csv;
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => next || onClose()}
      title="Import Subscriptions"
      description="One line each, with a header: email, and if you like active and expires_at."
      className="max-w-2xl"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" busy={task.busy} disabled={csv.trim() === '' || tooLarge} onClick={() => task.run()}>
            Import
          </Button>
        </>
      }
    >
      <div className="grid gap-5">
        {task.error !== undefined && (
          <Banner tone="danger" onDismiss={task.dismiss}>
            {messageOf(task.error) ?? 'Please try again.'}
          </Banner>
        )}
        <Field label="File">
          {(control) => (
            <Input
              {...control}
              type="file"
              accept=".csv,text/csv,text/plain"
              className="py-2 text-sm"
              onChange={async (event) => setCsv((await event.target.files?.[0]?.text()) ?? '')}
            />
          )}
        </Field>
        <Field label="Lines" error={tooLarge ? `At most ${bodyMaxBytes.csv / 1024 / 1024} MB at once.` : undefined}>
          {(control) => (
            <Textarea
              {...control}
              rows={8}
              spellCheck={false}
              placeholder={'email,expires_at\nada@example.com,2027-01-31'}
              className="font-mono text-sm"
              value={csv}
              onChange={(event) => setCsv(event.target.value)}
            />
          )}
        </Field>
      </div>
    </Dialog>
  );
}

/** Control answers counts by name: 'imported: 3, unchanged: 1'. */
function describeImport(result: Readonly<Record<string, unknown>>): string {
  return Object.entries(result)
    .map(([name, count]) => `${name}: ${String(count)}`)
    .join(', ');
}
