// The fields of the New Tunnel form; new-tunnel-form.ts validates them.
import type { Region } from '@underpass/rules/entity/entity.ts';
import { generatorDomain, tunnelTypesOf } from '@underpass/rules/entity/region.ts';
import { addIngressDomain } from '@underpass/rules/names/ingress-domain.ts';
import { text } from '@underpass/rules/text/text.ts';
import { type TunnelType, tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { Breakable } from '../../ui/breakable.tsx';
import { Field } from '../../ui/input/field.tsx';
import { Input } from '../../ui/input/input.tsx';
import { ListEditor } from '../../ui/input/list-editor.tsx';
import { RadioCards } from '../../ui/input/radio-cards.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import {
  hasDomains,
  type NewTunnelField,
  type NewTunnelForm,
  setGenerate,
  setName,
  setRegion,
  setType,
} from './new-tunnel-form.ts';
import { ProxyProtocolField } from './proxy-protocol-field.tsx';

interface NewTunnelFieldsProps {
  readonly form: NewTunnelForm;
  /** Takes an edit of the whole form: one action may change two fields. */
  readonly onChange: (change: (form: NewTunnelForm) => NewTunnelForm) => void;
  readonly regions: readonly Region[];
  readonly errors: Readonly<Partial<Record<NewTunnelField, string>>>;
}

export function NewTunnelFields({ form, onChange, regions, errors }: NewTunnelFieldsProps) {
  const region = regions.find(({ name }) => name === form.region)!;
  return (
    <>
      <Field label="Name" hint="Lowercase letters, digits and hyphens." error={errors.name}>
        {(control) => (
          <Input
            {...control}
            mono
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            value={form.name}
            onChange={({ target }) => {
              const { value, selectionStart: caret } = target;
              onChange((old) => setName(old, value));
              // React moves the caret to the end if the shown text differs from the typed one.
              queueMicrotask(() => target.setSelectionRange(caret, caret));
            }}
          />
        )}
      </Field>
      <SelectField
        label="Region"
        error={errors.region}
        value={form.region}
        options={regions.map(regionOption)}
        onChange={(name) => onChange((old) => setRegion(old, regions.find((other) => other.name === name) ?? region))}
      />
      <RadioCards
        label="Type"
        value={form.type}
        options={tunnelTypesOf(region).map(typeOption)}
        onChange={(type) => onChange((old) => setType(old, type, region))}
      />
      {hasDomains(form) ? (
        <DomainFields form={form} onChange={onChange} region={region} error={errors.domains} />
      ) : (
        <RadioCards
          label="Visitors"
          value={form.isPrivate ? 'private' : 'public'}
          options={reachOptions}
          onChange={(choice) => onChange((old) => ({ ...old, isPrivate: choice === 'private' }))}
        />
      )}
      <ProxyProtocolField
        value={form.proxyProtocol}
        onChange={(proxyProtocol) => onChange((old) => ({ ...old, proxyProtocol }))}
      />
    </>
  );
}

const reachOptions = [
  { value: 'public', label: 'Public port', description: 'Anyone whom the security group allows.' },
  { value: 'private', label: 'Private', description: 'Members and holders of a ticket, by underpass reach.' },
] as const;

function regionOption({ name, description, available }: Region) {
  return {
    value: name,
    label: description || name,
    disabled: !available,
    ...(available ? {} : { description: 'unavailable' }),
  };
}

function typeOption(type: TunnelType) {
  const { label, description } = tunnelTypes[type];
  return { value: type, label, description };
}

interface DomainFieldsProps extends Pick<NewTunnelFieldsProps, 'form' | 'onChange'> {
  readonly region: Region;
  readonly error: string | undefined;
}

function DomainFields({ form, onChange, region, error }: DomainFieldsProps) {
  const wildcard = generatorDomain(region, form.type);
  return (
    <>
      {wildcard !== null && (
        <Switch
          label="Generate domain"
          hint={
            <>
              A name under{' '}
              <span className="font-mono">
                <Breakable text={wildcard} />
              </span>
              , ready immediately.
            </>
          }
          checked={form.generate}
          onChange={(generate) => onChange((old) => setGenerate(old, generate))}
        />
      )}
      {!form.generate && (
        <ListEditor
          label="Ingress domains"
          items={form.domains}
          onChange={(domains) => onChange((old) => ({ ...old, domains }))}
          pending={form.pendingDomain}
          onPendingChange={(pendingDomain) => onChange((old) => ({ ...old, pendingDomain }))}
          add={addIngressDomain}
          hint={wildcard === null ? undefined : 'Without a domain of your own, switch on Generate domain.'}
          error={error}
          placeholder="app.example.com"
          emptyText={text.tunnels.noIngressDomains}
        />
      )}
    </>
  );
}
