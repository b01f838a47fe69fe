// Creates an access policy with the ways to sign in that need no set-up elsewhere; its page has the rest.
import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import { accept, acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseObjectName } from '@underpass/rules/text/object-name.ts';
import { callApi } from '../../api/request.ts';
import { useNavigateOrReload } from '../../api/use-navigate-or-reload.ts';
import { ListField } from '../../form/list-field.tsx';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Switch } from '../../ui/input/switch.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { addPerson, parseTypedPeople } from './policy-form.ts';
import { membersHint, peopleHint, peoplePlaceholder } from './words.ts';

export const NewPolicyPanel = formPanel(
  {
    title: 'New Access Policy',
    description:
      "Choose who may sign in. The policy's page has more: a sign-in provider, a password, rules for paths, tokens and share links.",
  },
  NewPolicyForm,
);

interface NewPolicyValues {
  readonly name: string;
  readonly members: boolean;
  readonly people: readonly string[];
  readonly pending: string;
}

type NewPolicy = Pick<NewPolicyValues, 'name' | 'members' | 'people'>;

function parseNewPolicy({ members, ...values }: NewPolicyValues): ParsedForm<NewPolicy, 'name' | 'people'> {
  const people = parseTypedPeople(values.people, values.pending);
  const parsed = acceptFields({ name: parseObjectName(values.name), people });
  return parsed.ok ? accept({ ...parsed.value, members }) : parsed;
}

function NewPolicyForm({ onDone }: InOverlay) {
  const project = useProject();
  const navigateOrReload = useNavigateOrReload();
  const form = useForm<NewPolicyValues, NewPolicy>({
    initial: { name: '', members: true, people: [], pending: '' },
    parse: parseNewPolicy,
    send: async (payload) => {
      await callApi(accessCalls.createAccessPolicy, { project: project.id, payload });
      toast.done(`Access policy ${payload.name} created.`);
      await navigateOrReload(paths.accessPolicy(project.id, payload.name));
    },
  });
  const { values, set } = form;
  return (
    <PanelForm form={form} submitLabel="Create" onCancel={onDone} failureTitle="The access policy was not created.">
      <TextField form={form} name="name" label="Name" autoComplete="off" />
      <Switch
        label="Members of the project"
        hint={membersHint}
        checked={values.members}
        onChange={(members) => set('members', members)}
      />
      <ListField
        form={form}
        name="people"
        pending="pending"
        label="People"
        add={addPerson}
        hint={peopleHint}
        placeholder={peoplePlaceholder}
        emptyText="No people yet."
      />
    </PanelForm>
  );
}
