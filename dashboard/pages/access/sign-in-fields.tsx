// The ways to sign in: members, people by e-mail, a provider, a password.
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { ListField } from '../../form/list-field.tsx';
import { TextField } from '../../form/text-field.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { addPerson } from './policy-form.ts';
import { ProviderFields } from './provider-fields.tsx';
import type { PolicyPartProps } from './use-policy-form.ts';
import { membersHint, peopleHint, peoplePlaceholder } from './words.ts';

export function SignInFields(props: PolicyPartProps) {
  const { form, policy, readOnly } = props;
  const { values, set } = form;
  return (
    <div className="grid gap-6">
      <Switch
        label="Members of the project"
        hint={membersHint}
        checked={values.members}
        onChange={(members) => set('members', members)}
        disabled={readOnly}
      />
      <ListField
        form={form}
        name="people"
        pending="peoplePending"
        label="People"
        add={addPerson}
        hint={peopleHint}
        placeholder={peoplePlaceholder}
        emptyText="No people yet."
        disabled={readOnly}
      />
      <ProviderFields {...props} />
      <PasswordFields form={form} policy={policy} readOnly={readOnly} />
    </div>
  );
}

function PasswordFields({ form, policy, readOnly }: PolicyPartProps) {
  const { values, set } = form;
  const hint = policy.password
    ? 'A password is set. Leave this empty to keep it. A new password signs out everyone who used the old one.'
    : `At least ${policyLimits.passwordCharsLeast} characters. Anyone who knows it may visit.`;
  return (
    <div className="grid gap-4">
      <Switch
        label="Password"
        hint="One password for all visitors."
        checked={values.hasPassword}
        onChange={(hasPassword) => set('hasPassword', hasPassword)}
        disabled={readOnly}
      />
      {values.hasPassword && !readOnly && (
        <TextField
          form={form}
          name="password"
          label={policy.password ? 'New password' : 'Password to visit'}
          optional={policy.password}
          type="password"
          autoComplete="new-password"
          hint={hint}
          className="max-w-md"
        />
      )}
    </div>
  );
}
