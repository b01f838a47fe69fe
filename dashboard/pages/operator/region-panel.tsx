// Adds a region or changes one. Name and host cannot change, and TLS termination only while no tunnel depends on it.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import type { OperatorRegion } from '@underpass/rules/entity/resource.ts';
import { parseHostname } from '@underpass/rules/names/hostname.ts';
import { accept, acceptFields, type Parsed, type ParsedForm, refuse } from '@underpass/rules/parsed.ts';
import { parseSingleLine } from '@underpass/rules/text/single-line.ts';
import { unwrapHost } from '@underpass/rules/text/typed-list.ts';
import { formatPortRange, parsePortRange } from '@underpass/rules/tunnel/port-range.ts';
import { useRevalidator } from 'react-router';
import { callApi } from '../../api/request.ts';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { type Form, useForm } from '../../form/use-form.ts';
import { Switch } from '../../ui/input/switch.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

type RegionField = 'name' | 'description' | 'dataPlaneHost' | 'wildcardIngressDomain' | 'tcpPorts';
type RegionTexts = Readonly<Record<RegionField, string>>;
interface RegionValues extends RegionTexts {
  readonly tlsTermination: boolean;
}

const line = { required: true, maxChars: 100 };

function parseRegion(fields: RegionValues): ParsedForm<RegionValues, RegionField> {
  const wildcard = fields.wildcardIngressDomain.trim();
  const parsed = acceptFields({
    name: parseSingleLine(fields.name, line),
    description: parseSingleLine(fields.description, line),
    dataPlaneHost: parseHost(fields.dataPlaneHost),
    wildcardIngressDomain: wildcard === '' ? accept('') : parseHost(wildcard.replace(/^\*\./, '')),
    tcpPorts: fields.tcpPorts.trim() === '' ? accept('') : parsePorts(fields.tcpPorts),
  });
  return parsed.ok ? accept({ ...parsed.value, tlsTermination: fields.tlsTermination }) : parsed;
}

function parsePorts(text: string): Parsed<string> {
  const range = parsePortRange(text);
  return range.ok ? accept(formatPortRange(range.value)) : range;
}

function parseHost(text: string): Parsed<string> {
  if (text.trim() === '') return refuse('Required.');
  const host = parseHostname(unwrapHost(text));
  return host === null ? refuse('Please enter a valid domain name.') : accept(host);
}

export const RegionPanel = formPanel(
  ({ region }: RegionFormProps) => ({ title: region ? `Edit ${region.name}` : 'Add region' }),
  RegionForm,
);

interface RegionFormProps extends InOverlay {
  /** undefined: add a region. */
  readonly region: OperatorRegion | undefined;
}

function RegionForm({ region, onDone }: RegionFormProps) {
  const { revalidate } = useRevalidator();
  const form = useForm({
    initial: {
      name: region?.name ?? '',
      description: region?.description ?? '',
      dataPlaneHost: region?.dataPlaneHost ?? '',
      wildcardIngressDomain: region?.wildcardIngressDomain ?? '',
      tcpPorts: region?.tcpPorts ?? '',
      tlsTermination: region?.tlsTermination ?? true,
    },
    parse: parseRegion,
    send: async (values: RegionValues) => {
      await save(region, values);
      onDone();
      toast.done(`Region ${values.name} ${region ? 'saved' : 'added'}.`);
      await revalidate();
    },
  });
  const isInUse = region !== undefined && region.tunnels > 0;
  return (
    <PanelForm form={form} submitLabel={region ? 'Save' : 'Add'} onCancel={onDone}>
      <RegionFields form={form} isNew={region === undefined} />
      <Switch
        label="TLS termination"
        hint={
          isInUse
            ? 'Cannot change while the region has tunnels. Delete them first.'
            : 'When off, the region offers no http tunnels.'
        }
        checked={form.values.tlsTermination}
        onChange={(tlsTermination) => form.set('tlsTermination', tlsTermination)}
        disabled={isInUse}
      />
    </PanelForm>
  );
}

/** Fields in which no keyboard corrects or completes. */
const verbatim = { mono: true, autoCapitalize: 'none', autoComplete: 'off' } as const;

function RegionFields({ form, isNew }: { readonly form: Form<RegionValues>; readonly isNew: boolean }) {
  return (
    <>
      {isNew && <TextField form={form} name="name" label="Name" hint="Short, such as eu-west-1." {...verbatim} />}
      <TextField
        form={form}
        name="description"
        label="Description"
        hint="What users see, such as Frankfurt."
        autoComplete="off"
      />
      {isNew && (
        <TextField
          form={form}
          name="dataPlaneHost"
          label="Data-plane host"
          hint="Clients connect to it, and users point their DNS at it."
          {...verbatim}
        />
      )}
      <TextField
        form={form}
        name="wildcardIngressDomain"
        label="Wildcard ingress domain"
        hint="Generated domains are names under it. Point its wildcard DNS record at the region."
        {...verbatim}
        optional
      />
      <TextField
        form={form}
        name="tcpPorts"
        label="Public TCP ports"
        hint="Tcp tunnels get one each, such as 20000-20099. The edges' own UNDERPASS_TCP_PORTS must name them too."
        {...verbatim}
        optional
      />
    </>
  );
}

function save(region: OperatorRegion | undefined, values: RegionValues): Promise<unknown> {
  const { description, wildcardIngressDomain, tcpPorts, tlsTermination } = values;
  if (region) {
    const payload = { description, wildcardIngressDomain, tcpPorts, tlsTermination };
    return callApi(operatorCalls.changeRegion, { name: region.name, payload });
  }
  const { name, dataPlaneHost } = values;
  return callApi(operatorCalls.createRegion, {
    payload: {
      name,
      description,
      dataPlaneHost,
      tlsTermination,
      ...(wildcardIngressDomain ? { wildcardIngressDomain } : {}),
      ...(tcpPorts ? { tcpPorts } : {}),
    },
  });
}
