// The editor of a group's rules: Save after a change only, Cancel back to what is saved (spec 4, Security group editor).
import type { SecurityGroup } from '@underpass/rules/entity.ts';
import { parseAllowList } from '@underpass/rules/source-address.ts';
import { type FormEvent, useEffect, useState } from 'react';
import { useFetcher } from 'react-router';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { toast } from '../../ui/toast.tsx';
import { AllowListEditor } from './allow-list-editor.tsx';
import type { ActionResult } from './security-group.tsx';

export function AllowListForm({ group, readOnly }: { readonly group: SecurityGroup; readonly readOnly: boolean }) {
  const fetcher = useFetcher<ActionResult>();
  const [allow, setAllow] = useState(group.allowList);
  const [pending, setPending] = useState('');
  const [error, setError] = useState<string>();
  const [dismissed, setDismissed] = useState<ActionResult>();
  const changed = pending.trim() !== '' || !isSameList(allow, group.allowList);
  const reset = () => {
    setAllow(group.allowList);
    setPending('');
    setError(undefined);
  };
  useSaved(fetcher.data, () => {
    toast.done(`Security group ${group.name} saved.`);
    setPending('');
  });
  useFollowSaved(group.allowList, setAllow);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!changed) return;
    const parsed = parseAllowList(allow, pending);
    setError(parsed.ok ? undefined : parsed.message);
    if (parsed.ok) fetcher.submit([...parsed.value], { method: 'PATCH', encType: 'application/json' });
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
          <Banner tone="danger" title="The security group was not saved." onDismiss={() => setDismissed(failure)}>
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
            <Button onClick={reset} disabled={!changed}>
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
function useSaved(result: ActionResult | undefined, onSaved: () => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the result alone.
  useEffect(() => {
    if (result?.ok) onSaved();
  }, [result]);
}

/** A list that was saved, here or elsewhere, becomes what is edited; the same list loaded again changes nothing. */
function useFollowSaved(saved: readonly string[], follow: (list: readonly string[]) => void): void {
  const text = saved.join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the rules in the list, not the array that holds them.
  useEffect(() => follow(saved), [text]);
}
