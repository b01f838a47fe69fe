// Invites a person to a project by email.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import type { Project, Role } from '@underpass/rules/entity/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import { accept, acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseEmail } from '@underpass/rules/people/email.ts';
import { mayGrant } from '@underpass/rules/people/permission.ts';
import { useRevalidator } from 'react-router';
import { callApi } from '../../api/request.ts';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { RadioCards } from '../../ui/input/radio-cards.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { grantableRoles } from './role-options.ts';

interface InviteFormProps {
  readonly project: Project;
}

export const InvitePanel = formPanel(
  ({ project }: InviteFormProps) => ({
    title: 'Invite to project',
    description: `They get an email with a link to join ‘${project.name}’. The link works for ${durations.invitationDays} days.`,
  }),
  InviteForm,
);

interface Invite {
  readonly email: string;
  readonly role: Role;
}

function parseInvite({ email, role }: Invite): ParsedForm<Invite, 'email'> {
  return acceptFields({ email: parseEmail(email), role: accept(role) });
}

function InviteForm({ project, onDone }: InviteFormProps & InOverlay) {
  const { revalidate } = useRevalidator();
  const form = useForm<Invite, Invite>({
    initial: { email: '', role: mayGrant(project.role, 'member') ? 'member' : project.role },
    parse: parseInvite,
    send: async ({ email, role }) => {
      await callApi(projectCalls.createInvitation, { project: project.id, payload: { email, role } });
      onDone();
      toast.done(`Invitation sent to ${email}.`);
      await revalidate();
    },
  });
  return (
    <PanelForm form={form} submitLabel="Send invitation" onCancel={onDone}>
      <TextField form={form} name="email" label="Email" type="email" autoComplete="off" />
      <RadioCards
        label="Role"
        value={form.values.role}
        options={grantableRoles(project.role)}
        onChange={(role) => form.set('role', role)}
      />
    </PanelForm>
  );
}
