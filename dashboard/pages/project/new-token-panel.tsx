// Creates an API token.
import type { Project, Role } from '@underpass/rules/entity.ts';
import { limits } from '@underpass/rules/limits.ts';
import { accept, collectErrors, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseRole } from '@underpass/rules/permission.ts';
import { parseApiTokenName } from '@underpass/rules/project-name.ts';
import type { NewApiToken } from '@underpass/rules/resource.ts';
import { useRevalidator } from 'react-router';
import { type ApiTokenWish, createApiToken } from '../../api/tokens.ts';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { RadioCards } from '../../ui/radio-cards.tsx';
import { Select } from '../../ui/select.tsx';
import { PanelActions, PanelBody, SidePanel } from '../../ui/side-panel.tsx';
import { grantableRoles } from './role-options.ts';

export interface NewTokenPanelProps {
  readonly project: Project;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly onCreated: (token: NewApiToken) => void;
}

type TokenField = 'name' | 'role' | 'days';

const LIFETIMES = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: String(limits.apiTokenDays), label: '1 year' },
] as const;

function parseToken(fields: Readonly<Record<TokenField, string>>): ParsedForm<ApiTokenWish, TokenField> {
  const name = parseApiTokenName(fields.name);
  const role = parseRole(fields.role);
  if (name.ok && role.ok) return accept({ name: name.value, role: role.value, expiresInDays: Number(fields.days) });
  return { ok: false, errors: collectErrors({ name, role, days: accept(fields.days) }) };
}

export function NewTokenPanel({ project, open, onOpenChange, onCreated }: NewTokenPanelProps) {
  const { revalidate } = useRevalidator();
  const form = useForm<TokenField, ApiTokenWish>({
    initial: { name: '', role: 'member', days: '90' },
    parse: parseToken,
    send: async (wish) => {
      const created = await createApiToken(project.id, wish);
      onOpenChange(false);
      onCreated(created);
      form.reset();
      await revalidate();
    },
  });
  return (
    <SidePanel
      open={open}
      onOpenChange={onOpenChange}
      title="Create API token"
      description={`It acts for you within ${project.name}. You see it once.`}
      busy={form.busy}
    >
      <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="flex min-h-0 flex-1 flex-col">
        <PanelBody>
          {form.failure && (
            <Banner tone="danger" onDismiss={form.dismissFailure}>
              {form.failure}
            </Banner>
          )}
          <TextField form={form} name="name" label="Name" hint="What uses it, such as ‘deploy pipeline’." autoComplete="off" />
          <RadioCards
            label="Role"
            value={form.values.role as Role}
            options={grantableRoles(project.role)}
            onChange={(role) => form.set('role', role)}
          />
          <Field label="Expires after">
            {(control) => (
              <Select {...control} value={form.values.days} options={LIFETIMES} onChange={(days) => form.set('days', days)} />
            )}
          </Field>
        </PanelBody>
        <PanelActions>
          <Button onClick={() => onOpenChange(false)}>Cancel</Button>
          <Button type="submit" variant="primary" busy={form.busy}>
            Create
          </Button>
        </PanelActions>
      </form>
    </SidePanel>
  );
}
