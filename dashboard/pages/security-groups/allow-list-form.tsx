// The editor of a group's rules: Save after a change only, Cancel back to what is saved (spec 4, Security group editor).
import type { SecurityGroup } from '@underpass/rules/entity.ts';
import { parseAllowList } from '@underpass/rules/source-address.ts';
import { type FormEvent, useEffect, useState } from 'react';
import { useFetcher } from 'react-router';
import { LoadNewest } from '../../form/load-newest.tsx';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { toast } from '../../ui/toast.tsx';
import { AllowListEditor } from './allow-list-editor.tsx';

export type ActionResult =
  | { readonly ok: true; readonly group: SecurityGroup }
  | { readonly ok: false; readonly message: string };

export function AllowListForm({ group, readOnly }: { readonly group: SecurityGroup; readonly readOnly: boolean }) {
  const fetcher = useFetcher<ActionResult>();
  /** What the form began with: what is saved is a change of this, whatever becomes of the group meanwhile. */
  const [base, setBase] = useState(group);
  const [allow, setAllow] = useState(group.allowList);
  const [pending, setPending] = useState('');
  const [error, setError] = useState<string>();
  const [dismissed, setDismissed] = useState<ActionResult>();
  const changed = pending.trim() !== '' || !isSameList(allow, base.allowList);
  const newest = group.updatedAt > base.updatedAt ? group : base;
  const beginWith = (saved: SecurityGroup) => {
    setBase(saved);
    setAllow(saved.allowList);
    setPending('');
    setError(undefined);
    setDismissed(fetcher.data);
  };
  useSaved(fetcher.data, (saved) => {
    toast.done(`Security group ${saved.name} saved.`);
    beginWith(saved);
  });
  useEffect(() => {
    if (newest !== base && !changed) beginWith(newest);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!changed) return;
    const parsed = parseAllowList(allow, pending);
    setError(parsed.ok ? undefined : parsed.message);
    if (parsed.ok)
      fetcher.submit(
        { updatedAt: base.updatedAt, allowList: [...parsed.value] },
        { method: 'PATCH', encType: 'application/json' },
      );
  };
  const failure = fetcher.data && !fetcher.data.ok && fetcher.data !== dismissed ? fetcher.data : undefined;
  return (
    <Card
      title="Allowed source addresses"
      description="Visitors from these addresses get in. Everybody else is refused."
      className="max-w-3xl"
    >
      <form noValidate onSubmit={submit} className="grid gap-4">
        {failure && (
          <Banner
            tone="danger"
            title="The security group was not saved."
            action={newest !== base && <LoadNewest onClick={() => beginWith(newest)} />}
            onDismiss={() => setDismissed(failure)}
          >
            {failure.message}
          </Banner>
        )}
        <AllowListEditor
          label="Source address"
          items={allow}
          onChange={setAllow}
          pending={pending}
          onPendingChange={setPending}
          error={error}
          disabled={readOnly}
        />
        {!readOnly && (
          <div className="flex justify-end gap-2">
            <Button onClick={() => beginWith(newest)} disabled={!changed}>
              Cancel
            </Button>
            <Button type="submit" variant="primary" disabled={!changed} busy={fetcher.state !== 'idle'}>
              Save
            </Button>
          </div>
        )}
      </form>
    </Card>
  );
}

const isSameList = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((rule, index) => rule === b[index]);

/** Once for each result of the action. */
function useSaved(result: ActionResult | undefined, onSaved: (saved: SecurityGroup) => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the result alone.
  useEffect(() => {
    if (result?.ok) onSaved(result.group);
  }, [result]);
}
