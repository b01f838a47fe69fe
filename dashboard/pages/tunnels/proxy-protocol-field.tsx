// Chooses whether and how the upstream is told the visitor's address (spec 9, Proxy protocol options).
import type { ProxyProtocol } from '@underpass/rules/entity.ts';
import { proxyProtocolOptions } from '@underpass/rules/proxy-protocol.ts';
import { Field } from '../../ui/field.tsx';
import { Select } from '../../ui/select.tsx';

/** A select needs a value for each choice, and 'Disabled' is the empty text. */
const DISABLED = 'disabled';

export interface ProxyProtocolFieldProps {
  readonly value: ProxyProtocol;
  readonly onChange: (value: ProxyProtocol) => void;
}

export function ProxyProtocolField({ value, onChange }: ProxyProtocolFieldProps) {
  return (
    <Field label="Proxy protocol" hint="Tells the upstream the visitor's address. The upstream has to support it.">
      {(control) => (
        <Select<Exclude<ProxyProtocol, ''> | typeof DISABLED>
          {...control}
          value={value || DISABLED}
          options={proxyProtocolOptions.map((option) => ({ value: option.value || DISABLED, label: option.label }))}
          onChange={(next) => onChange(next === DISABLED ? '' : next)}
        />
      )}
    </Field>
  );
}
