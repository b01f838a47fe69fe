// Adds a region or changes one. Name, host and TLS termination cannot change: tunnels depend on them.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import { parseHostname } from '@underpass/rules/hostname.ts';
import { accept, collectErrors, type Parsed, type ParsedForm, refuse } from '@underpass/rules/parsed.ts';
import type { OperatorRegion } from '@underpass/rules/resource.ts';
import { parseSingleLine } from '@underpass/rules/single-line.ts';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { callApi } from '../../api/request.ts';
import { PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { type Form, useForm } from '../../form/use-form.ts';
import { SidePanel } from '../../ui/side-panel.tsx';
import { Switch } from '../../ui/switch.tsx';
import { toast } from '../../ui/toast.tsx';

type RegionField = 'name' | 'description' | 'dataPlaneHost' | 'wildcardIngressDomain';
type RegionTexts = Readonly<Record<RegionField, string>>;

const LINE = { required: true, maxChars: 100 };

function parseRegion(fields: RegionTexts): ParsedForm<RegionTexts, RegionField> {
  const name = parseSingleLine(fields.name, LINE);
  const description = parseSingleLine(fields.description, LINE);
  const dataPlaneHost = parseHost(fields.dataPlaneHost);
  const wildcard = fields.wildcardIngressDomain.trim();
  const wildcardIngressDomain = wildcard === '' ? accept('') : parseHost(wildcard.replace(/^\*\./, ''));
  if (name.ok && description.ok && dataPlaneHost.ok && wildcardIngressDomain.ok) {
    return accept({
      name: name.value,
      description: description.value,
      dataPlaneHost: dataPlaneHost.value,
      wildcardIngressDomain: wildcardIngressDomain.value,
    });
  }
  return { ok: false, errors: collectErrors({ name, description, dataPlaneHost, wildcardIngressDomain }) };
}

function parseHost(text: string): Parsed<string> {
  if (text.trim() === '') return refuse('Required.');
  const host = parseHostname(text.trim());
  return host === null ? refuse('Please enter a valid domain name.') : accept(host);
}

export interface RegionPanelProps {
  /** undefined: add a region. */
  readonly region: OperatorRegion | undefined;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function RegionPanel({ region, open, onClose }: RegionPanelProps) {
  return (
    <SidePanel open={open} onOpenChange={(next) => next || onClose()} title={region ? `Edit ${region.name}` : 'Add region'}>
      <RegionForm region={region} onDone={onClose} />
    </SidePanel>
  );
}

interface RegionFormProps {
  readonly region: OperatorRegion | undefined;
  readonly onDone: () => void;
}

function RegionForm({ region, onDone }: RegionFormProps) {
  const [tlsTermination, setTlsTermination] = useState(true);
  const { revalidate } = useRevalidator();
  const form = useForm({
    initial: {
      name: region?.name ?? '',
      description: region?.description ?? '',
      dataPlaneHost: region?.dataPlaneHost ?? '',
      wildcardIngressDomain: region?.wildcardIngressDomain ?? '',
    },
    parse: parseRegion,
    send: async (texts: RegionTexts) => {
      await save(region, texts, tlsTermination);
      onDone();
      toast.done(`Region ${texts.name} ${region ? 'saved' : 'added'}.`);
      await revalidate();
    },
  });
  return (
    <PanelForm form={form} submitLabel={region ? 'Save' : 'Add'} onCancel={onDone}>
      <RegionFields form={form} isNew={region === undefined} />
      {region === undefined && (
        <Switch
          label="TLS termination"
          hint="Without it, the region offers only ingress tunnels."
          checked={tlsTermination}
          onChange={setTlsTermination}
        />
      )}
    </PanelForm>
  );
}

function RegionFields({ form, isNew }: { readonly form: Form<RegionTexts>; readonly isNew: boolean }) {
  return (
    <>
      {isNew && (
        <TextField
          form={form}
          name="name"
          label="Name"
          hint="Short, such as eu-west-1."
          mono
          autoCapitalize="none"
          autoComplete="off"
        />
      )}
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
          mono
          autoCapitalize="none"
          autoComplete="off"
        />
      )}
      <TextField
        form={form}
        name="wildcardIngressDomain"
        label="Wildcard ingress domain"
        hint="Generated domains are names under it. Point its wildcard DNS record at the region."
        mono
        autoCapitalize="none"
        autoComplete="off"
        optional
      />
    </>
  );
}

function save(region: OperatorRegion | undefined, texts: RegionTexts, tlsTermination: boolean): Promise<unknown> {
  const { description, wildcardIngressDomain } = texts;
  if (region) return callApi(operatorCalls.changeRegion, { name: region.name, payload: { description, wildcardIngressDomain } });
  const { name, dataPlaneHost } = texts;
  return callApi(operatorCalls.createRegion, {
    payload: {
      name,
      description,
      dataPlaneHost,
      tlsTermination,
      ...(wildcardIngressDomain ? { wildcardIngressDomain } : {}),
    },
  });
}
