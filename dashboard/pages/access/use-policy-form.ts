// The form of an access policy.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { callApi } from '../../api/request.ts';
import type { Form } from '../../form/use-form.ts';
import { useVersionForm, type VersionForm } from '../../form/use-version-form.ts';
import { useProject } from '../../session/session.ts';
import { isChanged, type PolicyChange, type PolicyValues, parsePolicyValues, valuesOf } from './policy-form.ts';

export type PolicyEdit = VersionForm<PolicyValues>;

/** What each part of the form gets. */
export interface PolicyPartProps {
  readonly form: Pick<Form<PolicyValues>, 'values' | 'errors' | 'set'>;
  /** The saved policy. */
  readonly policy: AccessPolicy;
  readonly readOnly: boolean;
}

export function usePolicyForm(policy: AccessPolicy): PolicyEdit {
  const project = useProject();
  return useVersionForm({
    loaded: policy,
    valuesOf,
    isChanged,
    parse: parsePolicyValues,
    save: (payload: PolicyChange, { name, updatedAt }) =>
      callApi(accessCalls.updateAccessPolicy, { project: project.id, name, payload, basedOn: updatedAt }),
    what: 'Access policy',
  });
}
