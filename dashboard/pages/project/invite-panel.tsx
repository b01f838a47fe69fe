// Invites somebody to a project by e-mail.
import { parseEmail } from '@underpass/rules/email.ts';
import type { Project, Role } from '@underpass/rules/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import { accept, collectErrors, type ParsedForm } from '@underpass/rules/parsed.ts';
import { mayGrant, parseRole } from '@underpass/rules/permission.ts';
import { useRevalidator } from 'react-router';
import { createInvitation } from '../../api/projects.ts';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { RadioCards } from '../../ui/radio-cards.tsx';
import { PanelActions, PanelBody, SidePanel } from '../../ui/side-panel.tsx';
import { toast } from '../../ui/toast.tsx';
import { grantableRoles } from './role-options.ts';

export interface InvitePanelProps {
  readonly project: Project;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

type InviteField = 'email' | 'role';
interface Invite {
  readonly email: string;
  readonly role: Role;
}

function parseInvite(fields: Readonly<Record<InviteField, string>>): ParsedForm<Invite, InviteField> {
  const email = parseEmail(fields.email);
  const role = parseRole(fields.role);
  if (email.ok && role.ok) return accept({ email: email.value, role: role.value });
  return { ok: false, errors: collectErrors({ email, role }) };
}

export function InvitePanel({ project, open, onOpenChange }: InvitePanelProps) {
  const { revalidate } = useRevalidator();
  const form = useForm<InviteField, Invite>({
    initial: { email: '', role: mayGrant(project.role, 'member') ? 'member' : project.role },
    parse: parseInvite,
    send: async ({ email, role }) => {
      await createInvitation(project.id, email, role);
      onOpenChange(false);
      form.reset();
      toast.done(`An invitation was sent to ${email}.`);
      await revalidate();
    },
  });
  return (
    <SidePanel
      open={open}
      onOpenChange={onOpenChange}
      title="Invite to project"
      description={`They get an email with a link to join ${project.name}. It works for ${durations.invitationDays} days.`}
      busy={form.busy}
    >
      <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="flex min-h-0 flex-1 flex-col">
        <PanelBody>
          {form.failure && (
            <Banner tone="danger" onDismiss={form.dismissFailure}>
              {form.failure}
            </Banner>
          )}
          <TextField form={form} name="email" label="Email" type="email" autoComplete="off" />
          <RadioCards
            label="Role"
            value={form.values.role as Role}
            options={grantableRoles(project.role)}
            onChange={(role) => form.set('role', role)}
          />
        </PanelBody>
        <PanelActions>
          <Button onClick={() => onOpenChange(false)}>Cancel</Button>
          <Button type="submit" variant="primary" busy={form.busy}>
            Send invitation
          </Button>
        </PanelActions>
      </form>
    </SidePanel>
  );
}
