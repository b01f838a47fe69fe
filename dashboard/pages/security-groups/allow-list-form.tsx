// The editor of a group's rules: Save after a change only, Cancel back to what is saved (spec 4, Security group editor).

import { parseAllowList } from '@underpass/rules/address/source-address.ts';
import { securityGroupCalls } from '@underpass/rules/api/security-group-calls.ts';
import type { SecurityGroup } from '@underpass/rules/entity/entity.ts';
import { acceptField, type ParsedForm } from '@underpass/rules/parsed.ts';
import { callApi } from '../../api/request.ts';
import { FormFailure } from '../../form/form-failure.tsx';
import { LoadNewest } from '../../form/load-newest.tsx';
import { useVersionForm } from '../../form/use-version-form.ts';
import { useProject } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { AllowListEditor } from './allow-list-editor.tsx';

interface RuleValues {
  readonly allow: readonly string[];
  readonly pending: string;
}

const valuesOf = ({ allowList }: SecurityGroup): RuleValues => ({ allow: allowList, pending: '' });

function parseRules({ allow, pending }: RuleValues): ParsedForm<readonly string[], 'allow'> {
  return acceptField('allow', parseAllowList(allow, pending));
}

const hasNewRules = ({ allow, pending }: RuleValues, { allowList }: SecurityGroup): boolean =>
  pending.trim() !== '' || !isSameList(allow, allowList);

/** The order means nothing: a visitor needs one rule that fits. */
function isSameList(a: readonly string[], b: readonly string[]): boolean {
  const known = new Set(b);
  return a.length === b.length && a.every((rule) => known.has(rule));
}

export function AllowListForm({ group, readOnly }: { readonly group: SecurityGroup; readonly readOnly: boolean }) {
  const project = useProject();
  const { form, changed, isOutdated, loadNewest } = useVersionForm({
    loaded: group,
    valuesOf,
    isChanged: hasNewRules,
    parse: parseRules,
    save: (allow, { name, updatedAt }) =>
      callApi(securityGroupCalls.updateSecurityGroup, { project: project.id, name, payload: { allow }, basedOn: updatedAt }),
    what: 'Security group',
  });
  return (
    <Card title="Allowed source addresses" description="Only visitors from these addresses can connect." className="max-w-3xl">
      <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid gap-4">
        <FormFailure
          form={form}
          title="The security group was not saved."
          action={isOutdated && <LoadNewest onClick={loadNewest} />}
        />
        <AllowListEditor form={form} label="Source address" disabled={readOnly} />
        {!readOnly && (
          <div className="flex flex-wrap justify-end gap-2">
            <Button onClick={loadNewest} disabled={!changed || form.busy}>
              Cancel
            </Button>
            <Button type="submit" variant="primary" disabled={!changed} busy={form.busy}>
              Save
            </Button>
          </div>
        )}
      </form>
    </Card>
  );
}
