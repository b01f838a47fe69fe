// Imports subscriptions from a CSV file or from pasted lines.
import { bodyMaxBytes } from '@underpass/rules/limits.ts';
import { text } from '@underpass/rules/text.ts';
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
  const [problems, setProblems] = useState<readonly string[]>([]);
  const { revalidate } = useRevalidator();
  const close = () => {
    setCsv('');
    setProblems([]);
    onClose();
  };
  const task = useTask(async () => {
    const { imported, problems: found = [] } = await importSubscriptions(csv);
    setProblems(found);
    toast.done(`${imported} ${imported === 1 ? 'subscription' : 'subscriptions'} imported.`);
    if (found.length === 0) close();
    await revalidate();
  });
  const tooLarge = new Blob([csv]).size > bodyMaxBytes.csv;
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => next || close()}
      title="Import Subscriptions"
      description="One subscription per line. The first line names the columns: email, and optionally active and expires_at."
      className="max-w-2xl"
      actions={
        <>
          <Button onClick={close}>{problems.length > 0 ? 'Close' : 'Cancel'}</Button>
          <Button variant="primary" busy={task.busy} disabled={csv.trim() === '' || tooLarge} onClick={() => task.run()}>
            Import
          </Button>
        </>
      }
    >
      <div className="grid gap-5">
        {task.error !== undefined && (
          <Banner tone="danger" onDismiss={task.dismiss}>
            {messageOf(task.error) ?? text.error.fallback}
          </Banner>
        )}
        {problems.length > 0 && <RejectedLines problems={problems} />}
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
        <Field
          label="Lines"
          error={tooLarge ? `The limit is ${bodyMaxBytes.csv / 1024 / 1024} MB. Import the lines in several parts.` : undefined}
        >
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
