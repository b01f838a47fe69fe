// Chooses the access policy of a tunnel.
import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import { Link } from 'react-router';
import { askFor } from '../../api/answers.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { paths } from '../../routing/paths.ts';
import { SelectField } from '../../ui/input/select-field.tsx';

interface AccessPolicyFieldProps {
  readonly project: string;
  /** Empty: none. Undefined: the tunnel is of a type that takes none. */
  readonly value: string | undefined;
  readonly onChange: (policy: string) => void;
}

export function AccessPolicyField({ value, ...field }: AccessPolicyFieldProps) {
  if (value === undefined) {
    return (
      <div className="grid gap-1.5">
        <p className="text-sm font-semibold">Access policy</p>
        <p className="text-sm text-ink-soft">
          An access policy needs an http tunnel: the service cannot see inside an ingress tunnel.
        </p>
      </div>
    );
  }
  return <PolicyField {...field} value={value} />;
}

function PolicyField({ project, value, onChange }: AccessPolicyFieldProps & { readonly value: string }) {
  const policies = useFetched(askFor(accessCalls.listAccessPolicies, { project, sort: 'name' }));
  // While the list loads, the tunnel's own policy is the only one.
  const names = policies.data?.map(({ name }) => name) ?? [value].filter(Boolean);
  const options = [{ value: '', label: 'None' }, ...names.map((name) => ({ value: name, label: name }))];
  return (
    <SelectField
      label="Access policy"
      hint={<Hint project={project} policy={value} />}
      value={value}
      options={options}
      onChange={onChange}
    />
  );
}

/** A new tab keeps what is typed in the panel. */
function Hint({ project, policy }: { readonly project: string; readonly policy: string }) {
  const link = policy === '' ? paths.accessPolicies(project) : paths.accessPolicy(project, policy);
  return (
    <>
      {policy === '' ? 'Everyone that the security group allows can visit.' : 'Checked after the security group.'}{' '}
      <Link to={link} target="_blank" className="font-semibold underline underline-offset-4">
        {policy === '' ? 'Access policies' : `Open ${policy}`}
      </Link>
    </>
  );
}
