// Registers a domain (spec 2, Domains list). A 400 concerns the name and is shown under it; any other failure above the form.

import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import { parseApexDomain } from '@underpass/rules/names/apex-domain.ts';
import { acceptField } from '@underpass/rules/parsed.ts';
import { unwrapHost } from '@underpass/rules/text/typed-list.ts';
import { useSearchParams } from 'react-router';
import { isApiError } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useNavigateOrReload } from '../../api/use-navigate-or-reload.ts';
import { DialogForm, formDialog, type InOverlay } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { newDomainParam, paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { toast } from '../../ui/overlay/toast.tsx';

export const AddDomainDialog = formDialog(
  { title: 'Add Domain', description: 'Next, add a TXT record to prove you own it.' },
  AddDomainForm,
);

function AddDomainForm({ onDone }: InOverlay) {
  const project = useProject();
  const navigateOrReload = useNavigateOrReload();
  const [search] = useSearchParams();
  const form = useForm({
    initial: { name: '' },
    parse: ({ name }) => acceptField('name', parseApexDomain(unwrapHost(name))),
    send: async (name) => {
      const { apexName } = await callApi(domainCalls.createDomain, { project: project.id, payload: { name } });
      toast.done(`Domain ${apexName} added.`);
      await navigateOrReload(paths.domain(project.id, apexName), { replace: search.has(newDomainParam) });
    },
  });
  const isBadName = isApiError(form.error) && form.error.status === 400;
  return (
    <DialogForm
      form={isBadName ? { ...form, failure: undefined } : form}
      submitLabel="Create"
      onCancel={onDone}
      failureTitle="The domain was not added."
    >
      <TextField
        form={form}
        name="name"
        label="Name"
        error={isBadName ? form.failure : undefined}
        mono
        placeholder="example.com"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        onInput={form.dismissFailure}
      />
    </DialogForm>
  );
}
