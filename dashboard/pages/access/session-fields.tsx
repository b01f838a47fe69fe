// How long a sign-in lasts, where programs send their token, and whether sign-ins are logged.
import { retentionDays } from '@underpass/rules/limits.ts';
import { ListField } from '../../form/list-field.tsx';
import { TextField } from '../../form/text-field.tsx';
import { SelectField } from '../../ui/input/select-field.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { addOrigin, sessionOptions } from './policy-form.ts';
import type { PolicyPartProps } from './use-policy-form.ts';

export function SessionFields({ form, policy, readOnly }: PolicyPartProps) {
  const { values, set } = form;
  return (
    <div className="grid gap-5">
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="A sign-in lasts"
          hint="A change applies to new sign-ins."
          value={values.sessionHours}
          options={sessionOptions(policy.sessionHours)}
          onChange={(hours) => set('sessionHours', hours)}
        />
        <TextField
          form={form}
          name="tokenHeader"
          label="Header for machine tokens"
          hint="With authorization, programs send ‘Bearer’ before the token."
          mono
          autoComplete="off"
          spellCheck={false}
        />
      </div>
      <ListField
        form={form}
        name="origins"
        pending="originsPending"
        label="Other origins"
        add={addOrigin}
        hint="Pages of these origins may use a visitor’s session to write and to open WebSockets. Leave the list empty if the service calls itself alone."
        placeholder="https://app.example.com"
        emptyText="None: only the tunnel’s own pages."
        disabled={readOnly}
      />
      <Switch
        label="Sign-in log"
        hint={`Records who signed in, when and from where. Entries stay for ${retentionDays.accessSignIn} days.`}
        checked={values.log}
        onChange={(log) => set('log', log)}
        disabled={readOnly}
      />
    </div>
  );
}
