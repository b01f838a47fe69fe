// Creates a security group (spec 2, Security groups list).

import { parseAllowList } from '@underpass/rules/address/source-address.ts';
import { securityGroupCalls } from '@underpass/rules/api/security-group-calls.ts';
import { acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseObjectName } from '@underpass/rules/text/object-name.ts';
import { text } from '@underpass/rules/text/text.ts';
import { callApi } from '../../api/request.ts';
import { useNavigateOrReload } from '../../api/use-navigate-or-reload.ts';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { toast } from '../../ui/overlay/toast.tsx';
import { AllowListEditor } from './allow-list-editor.tsx';

export const NewSecurityGroupPanel = formPanel(
  { title: text.groups.newTitle, description: 'Only the listed addresses can reach the tunnels that use this group.' },
  NewGroupForm,
);

interface NewGroupValues {
  readonly name: string;
  readonly allow: readonly string[];
  readonly pending: string;
}

type NewGroup = Pick<NewGroupValues, 'name' | 'allow'>;

function parseNewGroup(values: NewGroupValues): ParsedForm<NewGroup, keyof NewGroup> {
  return acceptFields({ name: parseObjectName(values.name), allow: parseAllowList(values.allow, values.pending) });
}

function NewGroupForm({ onDone }: InOverlay) {
  const project = useProject();
  const navigateOrReload = useNavigateOrReload();
  const form = useForm<NewGroupValues, NewGroup>({
    initial: { name: '', allow: [], pending: '' },
    parse: parseNewGroup,
    send: async ({ name, allow }) => {
      await callApi(securityGroupCalls.createSecurityGroup, { project: project.id, payload: { name, allow } });
      toast.done(`Security group ${name} created.`);
      await navigateOrReload(paths.securityGroup(project.id, name));
    },
  });
  return (
    <PanelForm form={form} submitLabel="Create" onCancel={onDone} failureTitle="The security group was not created.">
      <TextField form={form} name="name" label="Name" autoComplete="off" />
      <AllowListEditor form={form} label="Allow" />
    </PanelForm>
  );
}
