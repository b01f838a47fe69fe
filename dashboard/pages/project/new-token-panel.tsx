// Creates an API token.
import type { PayloadOf } from '@underpass/rules/api/call.ts';
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { Project, Role } from '@underpass/rules/entity/entity.ts';
import type { NewApiToken } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import { accept, acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import { useRevalidator } from 'react-router';
import { callApi } from '../../api/request.ts';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { RadioCards } from '../../ui/input/radio-cards.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';
import { grantableRoles } from './role-options.ts';

interface TokenFormProps {
  readonly project: Project;
  readonly onCreated: (token: NewApiToken) => void;
}

export const NewApiTokenPanel = formPanel(
  ({ project }: TokenFormProps) => ({
    title: 'Create API token',
    description: `The token acts for you within ‘${project.name}’. It is shown only once.`,
  }),
  TokenForm,
);

const lifetimes = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: String(limits.apiTokenDays), label: '1 year' },
] as const;

interface TokenValues {
  readonly name: string;
  readonly role: Role;
  readonly days: string;
}

type ApiTokenRequest = PayloadOf<typeof projectCalls.createApiToken>;

function parseToken({ name, role, days }: TokenValues): ParsedForm<ApiTokenRequest, 'name'> {
  return acceptFields({ name: parseApiTokenName(name), role: accept(role), expiresInDays: accept(Number(days)) });
}

function TokenForm({ project, onCreated, onDone }: TokenFormProps & InOverlay) {
  const { revalidate } = useRevalidator();
  const form = useForm<TokenValues, ApiTokenRequest>({
    initial: { name: '', role: 'member', days: '90' },
    parse: parseToken,
    send: async (wish) => {
      onCreated(await callApi(projectCalls.createApiToken, { project: project.id, payload: wish }));
      await revalidate();
    },
  });
  return (
    <PanelForm form={form} submitLabel="Create" onCancel={onDone}>
      <TextField form={form} name="name" label="Name" hint="What uses the token, such as ‘deploy pipeline’." autoComplete="off" />
      <RadioCards
        label="Role"
        value={form.values.role}
        options={grantableRoles(project.role)}
        onChange={(role) => form.set('role', role)}
      />
      <SelectField
        label="Expires after"
        value={form.values.days}
        options={lifetimes}
        onChange={(days) => form.set('days', days)}
      />
    </PanelForm>
  );
}
