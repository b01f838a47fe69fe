// The inputs of the snippets (spec 5, Connect snippets).
import type { ConnectErrors, ConnectInputs } from '@underpass/rules/connect/connect-form.ts';
import { commonUpstream, replaceCommon, singleFieldsMost } from '@underpass/rules/connect/domain-upstreams.ts';
import { type IngressPreset, ingressPresets, presetOf } from '@underpass/rules/connect/ingress-preset.ts';
import type { SnippetTab } from '@underpass/rules/connect/snippet.ts';
import { type ReactElement, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/input/field.tsx';
import { Input } from '../../ui/input/input.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';

interface ConnectFieldsProps {
  readonly tab: SnippetTab;
  readonly inputs: ConnectInputs;
  readonly errors: ConnectErrors;
  readonly onChange: (inputs: ConnectInputs) => void;
}

type HttpInputs = Extract<ConnectInputs, { type: 'http' }>;
type IngressInputs = Extract<ConnectInputs, { type: 'ingress' }>;

export function ConnectFields({ tab, inputs, errors, onChange }: ConnectFieldsProps): ReactElement {
  switch (inputs.type) {
    case 'http':
      return <DomainFields inCluster={tab === 'kubernetes'} inputs={inputs} errors={errors} onChange={onChange} />;
    case 'tcp':
      return <UpstreamField inputs={inputs} errors={errors} onChange={onChange} />;
    case 'ingress':
      return tab === 'kubernetes' ? (
        <ServiceFields inputs={inputs} errors={errors} onChange={onChange} />
      ) : (
        <UpstreamField inputs={inputs} errors={errors} onChange={onChange} />
      );
  }
}

interface UpstreamFieldProps<Inputs> {
  readonly inputs: Inputs;
  readonly errors: ConnectErrors;
  readonly onChange: (inputs: Inputs) => void;
}

function UpstreamField<Inputs extends { readonly upstream: string }>({ inputs, errors, onChange }: UpstreamFieldProps<Inputs>) {
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <TextInput
        label="Upstream"
        value={inputs.upstream}
        error={errors.upstream}
        onChange={(upstream) => onChange({ ...inputs, upstream })}
      />
    </div>
  );
}

interface DomainFieldsProps {
  readonly inCluster: boolean;
  readonly inputs: HttpInputs;
  readonly errors: ConnectErrors;
  readonly onChange: (inputs: HttpInputs) => void;
}

function DomainFields(props: DomainFieldsProps) {
  return props.inputs.upstreams.length > singleFieldsMost ? <ManyDomains {...props} /> : <SingleFields {...props} />;
}

/** One field for all domains. The fields of single domains are folded, unless one of them is wrong. */
function ManyDomains(props: DomainFieldsProps) {
  const { inCluster, inputs, errors, onChange } = props;
  const { upstreams } = inputs;
  const [unfolded, setUnfolded] = useState(false);
  const common = commonUpstream(upstreams);
  const exceptions = upstreams.filter(({ upstream }) => upstream !== common);
  const shown = unfolded || exceptions.some(({ domain }) => errors[domain] !== undefined);
  const sharing = upstreams.find(({ upstream }) => upstream === common)!;
  return (
    <div className="grid gap-4">
      <TextInput
        label="Upstream of all domains"
        hint={inCluster ? clusterHint : machineHint}
        value={common}
        error={errors[sharing.domain]}
        onChange={(text) => onChange({ ...inputs, upstreams: replaceCommon(upstreams, text) })}
      />
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-ink-soft">
        <Button size="sm" aria-expanded={shown} onClick={() => setUnfolded(!shown)}>
          {shown ? 'Hide domains' : 'Set each domain'}
        </Button>
        {exceptions.length > 0 && `${exceptions.length} of ${upstreams.length} domains have an upstream of their own.`}
      </div>
      {shown && <SingleFields {...props} />}
    </div>
  );
}

const clusterHint = 'The address of your Service in the cluster.';
const machineHint = 'Where your application listens, such as http://127.0.0.1:3000.';

function SingleFields({ inCluster, inputs, errors, onChange }: DomainFieldsProps) {
  return (
    <div className="grid gap-4 md:grid-cols-2">
      {inputs.upstreams.map(({ domain, upstream }) => (
        <TextInput
          key={domain}
          label={inputs.upstreams.length === 1 ? 'Upstream' : `Upstream of ${domain}`}
          hint={inCluster ? clusterHint : machineHint}
          value={upstream}
          error={errors[domain]}
          onChange={(text) => onChange({ ...inputs, upstreams: replaceUpstream(inputs.upstreams, domain, text) })}
        />
      ))}
    </div>
  );
}

type DomainUpstreams = HttpInputs['upstreams'];

const replaceUpstream = (upstreams: DomainUpstreams, domain: string, upstream: string): DomainUpstreams =>
  upstreams.map((entry) => (entry.domain === domain ? { domain, upstream } : entry));

interface ServiceFieldsProps {
  readonly inputs: IngressInputs;
  readonly errors: ConnectErrors;
  readonly onChange: (inputs: IngressInputs) => void;
}

function ServiceFields({ inputs, errors, onChange }: ServiceFieldsProps) {
  const choose = (name: IngressPreset['name']) => {
    const { service, namespace } = ingressPresets.find((other) => other.name === name)!;
    onChange({ ...inputs, service, namespace });
  };
  return (
    <div className="grid items-start gap-4 md:grid-cols-3">
      <SelectField
        label="Preset"
        value={presetOf(inputs).name}
        options={ingressPresets.map(({ name }) => ({ value: name, label: name }))}
        onChange={choose}
      />
      <TextInput
        label="Ingress service name"
        value={inputs.service}
        error={errors.service}
        onChange={(service) => onChange({ ...inputs, service })}
      />
      <TextInput
        label="Namespace"
        value={inputs.namespace}
        error={errors.namespace}
        onChange={(namespace) => onChange({ ...inputs, namespace })}
      />
    </div>
  );
}

interface TextInputProps {
  readonly label: string;
  readonly value: string;
  readonly hint?: string | undefined;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
}

function TextInput({ label, value, hint, error, onChange }: TextInputProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <Input
          {...control}
          mono
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}
