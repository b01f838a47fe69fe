// The form of an access policy: Save names the version that it edits, so control refuses to overwrite a newer one.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { useEffect, useState } from 'react';
import { useRevalidator } from 'react-router';
import { isStale } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { type Form, useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { toast } from '../../ui/toast.tsx';
import { isChanged, type PolicyChange, type PolicyValues, parsePolicyValues, valuesOf } from './policy-form.ts';

export interface PolicyEdit {
  readonly form: Form<PolicyValues>;
  readonly changed: boolean;
  /** Somebody saved a newer version. */
  readonly isOutdated: boolean;
  readonly loadNewest: () => void;
}

/** What each part of the form gets. */
export interface PolicyPartProps {
  readonly form: Pick<Form<PolicyValues>, 'values' | 'errors' | 'set'>;
  /** The saved policy. */
  readonly policy: AccessPolicy;
  readonly readOnly: boolean;
}

export function usePolicyForm(policy: AccessPolicy): PolicyEdit {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const [base, setBase] = useState(policy);
  const form = useForm({
    initial: valuesOf(policy),
    parse: (values) => parsePolicyValues(values, base),
    send: async (payload: PolicyChange) => {
      const { name, updatedAt } = base;
      const change = { project: project.id, name, payload, basedOn: updatedAt };
      const saved = await callApi(accessCalls.updateAccessPolicy, change).catch((error: unknown) => {
        if (isStale(error)) revalidate();
        throw error;
      });
      startFrom(saved);
      toast.done(`Access policy ${name} saved.`);
      await revalidate();
    },
  });
  const startFrom = (saved: AccessPolicy) => {
    setBase(saved);
    form.reset(valuesOf(saved));
  };
  const newest = policy.updatedAt > base.updatedAt ? policy : base;
  const changed = isChanged(form.values, base);
  useEffect(() => {
    if (newest !== base && !changed) startFrom(newest);
  });
  return { form, changed, isOutdated: newest !== base, loadNewest: () => startFrom(newest) };
}
