// Adds a region, or changes one. Its name, host and TLS stay as they were made: tunnels hang on them.
import { parseHostname } from '@underpass/rules/hostname.ts';
import { accept, collectErrors, type Parsed, type ParsedForm, refuse } from '@underpass/rules/parsed.ts';
import type { OperatorRegion } from '@underpass/rules/resource.ts';
import { parseSingleLine } from '@underpass/rules/single-line.ts';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { changeRegion, createRegion } from '../../api/operator.ts';
import { TextField } from '../../form/text-field.tsx';
import { type Form, useForm } from '../../form/use-form.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { PanelActions, PanelBody, SidePanel } from '../../ui/side-panel.tsx';
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
  /** undefined: a new one. */
  readonly region: OperatorRegion | undefined;
  readonly open: boolean;
  readonly onClose: () => void;
}

export function RegionPanel({ region, open, onClose }: RegionPanelProps) {
  const [tlsTermination, setTlsTermination] = useState(true);
  const { revalidate } = useRevalidator();
  const form = useForm<RegionField, RegionTexts>({
    initial: {
      name: region?.name ?? '',
      description: region?.description ?? '',
      dataPlaneHost: region?.dataPlaneHost ?? '',
      wildcardIngressDomain: region?.wildcardIngressDomain ?? '',
    },
    parse: parseRegion,
    send: async (texts) => {
      await save(region, texts, tlsTermination);
      onClose();
      if (!region) form.reset();
      toast.done(region ? `${texts.name} was changed.` : `${texts.name} was added.`);
      await revalidate();
    },
  });
  return (
    <SidePanel
      open={open}
      onOpenChange={(next) => next || onClose()}
      title={region ? `Edit ${region.name}` : 'Add region'}
      busy={form.busy}
    >
      <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="flex min-h-0 flex-1 flex-col">
        <PanelBody>
          {form.failure && (
            <Banner tone="danger" onDismiss={form.dismissFailure}>
              {form.failure}
            </Banner>
          )}
          <RegionFields form={form} isNew={region === undefined} />
          {region === undefined && (
            <Switch
              label="TLS termination"
              hint="Without it the region offers ingress tunnels only."
              checked={tlsTermination}
              onChange={setTlsTermination}
            />
          )}
        </PanelBody>
        <PanelActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={form.busy}>
            {region ? 'Save' : 'Add'}
          </Button>
        </PanelActions>
      </form>
    </SidePanel>
  );
}

function RegionFields({ form, isNew }: { readonly form: Form<RegionField>; readonly isNew: boolean }) {
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
          hint="Clients dial it, and users point their DNS at it."
          mono
          autoCapitalize="none"
          autoComplete="off"
        />
      )}
      <TextField
        form={form}
        name="wildcardIngressDomain"
        label="Wildcard ingress domain"
        hint="Generated names live under it. Its DNS has to point at the region."
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
  if (region) return changeRegion(region.name, { description, wildcardIngressDomain });
  const { name, dataPlaneHost } = texts;
  return createRegion({
    name,
    description,
    dataPlaneHost,
    tlsTermination,
    ...(wildcardIngressDomain ? { wildcardIngressDomain } : {}),
  });
}
