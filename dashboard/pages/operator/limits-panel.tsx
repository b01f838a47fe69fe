// The limits of one project.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { OperatorProject } from '@underpass/rules/entity/resource.ts';
import { type ProjectQuotas, projectQuotas, type QuotaName } from '@underpass/rules/limits.ts';
import { accept, type ParsedForm } from '@underpass/rules/parsed.ts';
import { useRevalidator } from 'react-router';
import { callApi } from '../../api/request.ts';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { toast } from '../../ui/overlay/toast.tsx';

const labels: Readonly<Record<QuotaName, string>> = {
  tunnels: 'Tunnels',
  domains: 'Domains',
  securityGroups: 'Security groups',
  accessPolicies: 'Access policies',
  rulesPerGroup: 'Rules per security group',
  ingressDomainsPerTunnel: 'Ingress domains per tunnel',
  members: 'Members and invitations',
  apiTokens: 'API tokens',
  gigabytesPerMonth: 'Gigabytes per month',
  tcpPorts: 'Public ports',
};
const names = Object.keys(labels) as QuotaName[];

type Texts = Readonly<Record<QuotaName, string>>;

function parseLimits(texts: Texts): ParsedForm<ProjectQuotas, QuotaName> {
  const wrong = names.filter((name) => !/^\d{1,9}$/.test(texts[name].trim()));
  if (wrong.length > 0) return { ok: false, errors: Object.fromEntries(wrong.map((name) => [name, 'Enter a whole number.'])) };
  return accept(Object.fromEntries(names.map((name) => [name, Number(texts[name])])) as Record<QuotaName, number>);
}

const textsOf = (quotas: ProjectQuotas) => Object.fromEntries(names.map((name) => [name, String(quotas[name])])) as Texts;

interface LimitsFormProps {
  readonly project: OperatorProject;
}

export const LimitsPanel = formPanel(
  ({ project }: LimitsFormProps) => ({
    title: `Limits of ${project.name}`,
    description: 'A lower limit keeps what exists and stops new entries.',
  }),
  LimitsForm,
);

function LimitsForm({ project, onDone }: LimitsFormProps & InOverlay) {
  const { revalidate } = useRevalidator();
  const form = useForm({
    initial: textsOf(project.limits),
    parse: parseLimits,
    send: async (limits) => {
      await callApi(operatorCalls.changeProject, { id: project.id, payload: { limits } });
      onDone();
      toast.done(`Limits of ${project.name} saved.`);
      await revalidate();
    },
  });
  return (
    <PanelForm form={form} submitLabel="Save" onCancel={onDone}>
      {names.map((name) => (
        <TextField
          key={name}
          form={form}
          name={name}
          label={labels[name]}
          hint={`Default: ${projectQuotas[name]}.`}
          inputMode="numeric"
          autoComplete="off"
        />
      ))}
    </PanelForm>
  );
}
