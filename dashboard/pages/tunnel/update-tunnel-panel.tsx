// Changes a tunnel (spec 2, Update tunnel panel).
import { securityGroupCalls } from '@underpass/rules/api/security-group-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { ProxyProtocol, SecurityGroup, Tunnel } from '@underpass/rules/entity/entity.ts';
import { addIngressDomain, parseIngressDomains } from '@underpass/rules/names/ingress-domain.ts';
import { accept, type ParsedForm } from '@underpass/rules/parsed.ts';
import { defaultSecurityGroupName, securityGroupChoices } from '@underpass/rules/text/security-group-name.ts';
import { text } from '@underpass/rules/text/text.ts';
import { proxyProtocolWarning } from '@underpass/rules/tunnel/proxy-protocol.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { askFor } from '../../api/answers.ts';
import { isApiError, isStale } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { ListField } from '../../form/list-field.tsx';
import { LoadNewest } from '../../form/load-newest.tsx';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { lazyPart } from '../../ui/lazy-part.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { ProxyProtocolField } from '../tunnels/proxy-protocol-field.tsx';

/** Code of its own: few open this panel, and the page of a tunnel has to load fast. */
const AccessPolicyField = lazyPart('The choice of an access policy', () =>
  import('./access-policy-field.tsx').then(({ AccessPolicyField }) => AccessPolicyField),
);

export const UpdateTunnelPanel = formPanel(
  ({ tunnel }: UpdateProps) => ({ title: 'Update Tunnel', description: tunnel.name }),
  UpdateRounds,
);

interface UpdateProps extends InOverlay {
  readonly tunnel: Tunnel;
}

function UpdateRounds(props: UpdateProps) {
  const [round, setRound] = useState(0);
  return <UpdateForm key={round} {...props} onStartOver={() => setRound(round + 1)} />;
}

interface TunnelChange {
  readonly ingressDomains: readonly string[];
  readonly proxyProtocol: ProxyProtocol;
  readonly securityGroup: string;
  /** Empty: none. Undefined: the tunnel is of a type that takes none. */
  readonly accessPolicy: string | undefined;
  readonly beginsTraces: boolean | undefined;
}

interface UpdateValues extends TunnelChange {
  /** The domain that is typed and not added yet. */
  readonly pending: string;
}

const valuesOf = ({
  type,
  ingressDomains,
  proxyProtocol,
  securityGroup,
  accessPolicy = '',
  beginsTraces,
}: Tunnel): UpdateValues => ({
  ingressDomains: ingressDomains.map(({ name }) => name),
  pending: '',
  proxyProtocol,
  securityGroup: securityGroup || defaultSecurityGroupName,
  accessPolicy: tunnelTypes[type].edgeEndsTls ? accessPolicy : undefined,
  beginsTraces: tunnelTypes[type].edgeEndsTls ? beginsTraces === true : undefined,
});

/** Only a tunnel whose every domain has an apexName shows the domains editor (spec 2). */
const editsDomains = ({ type, ingressDomains }: Tunnel) =>
  tunnelTypes[type].foundBy === 'name' && ingressDomains.every(({ apexName }) => apexName !== '');

function parseUpdate(base: Tunnel, { pending, ...change }: UpdateValues): ParsedForm<TunnelChange, 'ingressDomains'> {
  if (!editsDomains(base)) return accept(change);
  const parsed = parseIngressDomains(change.ingressDomains, { pending });
  return parsed.ok
    ? accept({ ...change, ingressDomains: parsed.value })
    : { ok: false, errors: { ingressDomains: parsed.message } };
}

interface UpdateFormProps extends UpdateProps {
  readonly onStartOver: () => void;
}

function UpdateForm({ tunnel, onDone, onStartOver }: UpdateFormProps) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  /** The version that the form edits: a save names it, so control refuses to overwrite a newer one. */
  const [base] = useState(tunnel);
  const form = useForm({
    initial: valuesOf(base),
    parse: (values) => parseUpdate(base, values),
    send: async (change: TunnelChange) => {
      try {
        const { name, updatedAt } = base;
        await callApi(tunnelCalls.updateTunnel, { project: project.id, name, payload: change, basedOn: updatedAt });
      } catch (error) {
        console.error('Tunnel update failed', error);
        if (isStale(error)) revalidate();
        throw error;
      }
      await revalidate();
      toast.done(`Tunnel ${tunnel.name} saved.`);
      onDone();
    },
  });
  const { values, set } = form;
  const failure = form.failure && (isApiError(form.error) ? form.failure : text.error.fallback);
  return (
    <PanelForm
      form={{ ...form, failure }}
      submitLabel="Save"
      onCancel={onDone}
      failureTitle="The tunnel was not saved."
      failureAction={tunnel.updatedAt > base.updatedAt && <LoadNewest onClick={onStartOver} />}
    >
      {editsDomains(base) && (
        <ListField
          form={form}
          name="ingressDomains"
          pending="pending"
          label="Ingress domains"
          add={addIngressDomain}
          placeholder="app.example.com"
          emptyText={text.tunnels.noIngressDomains}
        />
      )}
      <ProxyProtocolField value={values.proxyProtocol} onChange={(protocol) => set('proxyProtocol', protocol)} />
      <ProxyWarning saved={tunnel.proxyProtocol} chosen={values.proxyProtocol} />
      <SecurityGroupField project={project.id} value={values.securityGroup} onChange={(group) => set('securityGroup', group)} />
      <AccessPolicyField project={project.id} value={values.accessPolicy} onChange={(policy) => set('accessPolicy', policy)} />
      {values.beginsTraces !== undefined && (
        <Switch
          label="Begin traces"
          hint="Requests without a valid traceparent get one, which the visitor log shows."
          checked={values.beginsTraces}
          onChange={(begins) => set('beginsTraces', begins)}
        />
      )}
    </PanelForm>
  );
}

function ProxyWarning({ saved, chosen }: { readonly saved: ProxyProtocol; readonly chosen: ProxyProtocol }) {
  const warning = proxyProtocolWarning(saved, chosen);
  return warning && <Banner tone="warn">{warning}</Banner>;
}

interface SecurityGroupFieldProps {
  readonly project: string;
  readonly value: string;
  readonly onChange: (group: string) => void;
}

function SecurityGroupField({ project, value, onChange }: SecurityGroupFieldProps) {
  const groups = useFetched(askFor(securityGroupCalls.listSecurityGroups, { project }));
  return (
    <SelectField
      label="Security group"
      hint="Which addresses can reach this tunnel."
      value={value}
      options={groupOptions(groups.data, value)}
      onChange={onChange}
    />
  );
}

/** Options of the list; the tunnel's own group alone while it loads. */
function groupOptions(groups: readonly SecurityGroup[] | undefined, current: string) {
  const names = groups ? securityGroupChoices(groups.map(({ name }) => name)) : [current];
  return names.map((name) => ({ value: name, label: name }));
}
