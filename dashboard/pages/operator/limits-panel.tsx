// The limits of one project.
import { type ProjectQuotas, projectQuotas, type QuotaName } from '@underpass/rules/limits.ts';
import { accept, type ParsedForm } from '@underpass/rules/parsed.ts';
import type { OperatorProject } from '@underpass/rules/resource.ts';
import { useRevalidator } from 'react-router';
import { changeProject } from '../../api/operator.ts';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { PanelActions, PanelBody, SidePanel } from '../../ui/side-panel.tsx';
import { toast } from '../../ui/toast.tsx';

const LABELS: Readonly<Record<QuotaName, string>> = {
  tunnels: 'Tunnels',
  domains: 'Domains',
  securityGroups: 'Security groups',
  rulesPerGroup: 'Rules in a security group',
  ingressDomainsPerTunnel: 'Ingress domains on a tunnel',
  members: 'Members and invitations',
  apiTokens: 'API tokens',
};
const NAMES = Object.keys(LABELS) as QuotaName[];

type Texts = Readonly<Record<QuotaName, string>>;

function parseLimits(texts: Texts): ParsedForm<ProjectQuotas, QuotaName> {
  const wrong = NAMES.filter((name) => !/^\d{1,9}$/.test(texts[name].trim()));
  if (wrong.length > 0) return { ok: false, errors: Object.fromEntries(wrong.map((name) => [name, 'Enter a whole number.'])) };
  return accept(Object.fromEntries(NAMES.map((name) => [name, Number(texts[name])])) as Record<QuotaName, number>);
}

const textsOf = (quotas: ProjectQuotas) => Object.fromEntries(NAMES.map((name) => [name, String(quotas[name])])) as Texts;

export interface LimitsPanelProps {
  readonly project: OperatorProject;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function LimitsPanel({ project, open, onClose }: LimitsPanelProps) {
  const { revalidate } = useRevalidator();
  const form = useForm<QuotaName, ProjectQuotas>({
    initial: textsOf(project.limits),
    parse: parseLimits,
    send: async (limits) => {
      await changeProject(project.id, { limits });
      onClose();
      toast.done(`The limits of ${project.name} were changed.`);
      await revalidate();
    },
  });
  return (
    <SidePanel
      open={open}
      onOpenChange={(next) => next || onClose()}
      title={`Limits of ${project.name}`}
      description="What exists already stays, even where it is more."
      busy={form.busy}
    >
      <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="flex min-h-0 flex-1 flex-col">
        <PanelBody>
          {form.failure && (
            <Banner tone="danger" onDismiss={form.dismissFailure}>
              {form.failure}
            </Banner>
          )}
          {NAMES.map((name) => (
            <TextField
              key={name}
              form={form}
              name={name}
              label={LABELS[name]}
              hint={`Without a change: ${projectQuotas[name]}.`}
              inputMode="numeric"
              autoComplete="off"
            />
          ))}
        </PanelBody>
        <PanelActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={form.busy}>
            Save
          </Button>
        </PanelActions>
      </form>
    </SidePanel>
  );
}
