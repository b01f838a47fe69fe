// How long a sign-in lasts, where programs send their token, and whether sign-ins are logged.
import { retentionDays } from '@underpass/rules/limits.ts';
import { TextField } from '../../form/text-field.tsx';
import { Field } from '../../ui/input/field.tsx';
import { ListEditor } from '../../ui/input/list-editor.tsx';
import { Select } from '../../ui/input/select.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { addOrigin, sessionOptions } from './policy-form.ts';
import type { PolicyPartProps } from './use-policy-form.ts';

export function SessionFields({ form, policy, readOnly }: PolicyPartProps) {
  const { values, set } = form;
  return (
    <div className="grid gap-5">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="A sign-in lasts" hint="A change applies to new sign-ins.">
          {(control) => (
            <Select
              {...control}
              value={values.sessionHours}
              options={sessionOptions(policy.sessionHours)}
              onChange={(hours) => set('sessionHours', hours)}
            />
          )}
        </Field>
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
      <ListEditor
        label="Other origins"
        items={values.origins}
        onChange={(origins) => set('origins', origins)}
        pending={values.originsPending}
        onPendingChange={(pending) => set('originsPending', pending)}
        add={addOrigin}
        error={form.errors.origins}
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
