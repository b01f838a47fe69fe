// Chooses the PROXY protocol, which sends the visitor's address to the upstream (spec 9, Proxy protocol options).
import type { ProxyProtocol } from '@underpass/rules/entity/entity.ts';
import { proxyProtocolOptions } from '@underpass/rules/tunnel/proxy-protocol.ts';
import { SelectField } from '../../ui/input/select-field.tsx';

/** Stands for the empty text: a select needs a value for each option. */
const disabled = 'disabled';

interface ProxyProtocolFieldProps {
  readonly value: ProxyProtocol;
  readonly onChange: (value: ProxyProtocol) => void;
}

export function ProxyProtocolField({ value, onChange }: ProxyProtocolFieldProps) {
  return (
    <SelectField<Exclude<ProxyProtocol, ''> | typeof disabled>
      label="Proxy protocol"
      hint="Sends the visitor's address to the upstream, which must support the protocol."
      value={value || disabled}
      options={proxyProtocolOptions.map((option) => ({ value: option.value || disabled, label: option.label }))}
      onChange={(next) => onChange(next === disabled ? '' : next)}
    />
  );
}
