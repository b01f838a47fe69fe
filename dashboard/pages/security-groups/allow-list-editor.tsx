// Edits the source addresses of a security group, as fields of the form around it.

import { addSourceAddress, openRules, ownAddressRule } from '@underpass/rules/address/source-address.ts';
import { accountCalls } from '@underpass/rules/api/account-calls.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useEffect, useEffectEvent, useState } from 'react';
import { messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useTask } from '../../api/use-task.ts';
import { ListField } from '../../form/list-field.tsx';
import type { Form } from '../../form/use-form.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

interface AllowListValues {
  readonly allow: readonly string[];
  /** Typed and not added yet. */
  readonly pending: string;
}

interface AllowListEditorProps {
  readonly form: Pick<Form<AllowListValues>, 'values' | 'errors' | 'set'>;
  readonly label: string;
  readonly disabled?: boolean;
}

export function AllowListEditor({ form, ...rest }: AllowListEditorProps) {
  return (
    <div className="grid gap-3">
      <ListField
        {...rest}
        form={form}
        name="allow"
        pending="pending"
        add={addSourceAddress}
        hint="IPv4 or IPv6 addresses and CIDR ranges. You can paste a list."
        placeholder="203.0.113.0/24"
        emptyText="No rules yet. Add one so that visitors can connect."
      />
      {!rest.disabled && <AddOwnAddress form={form} />}
      <OpenWarning rules={openRules(form.values.allow)} readOnly={rest.disabled === true} />
    </div>
  );
}

function AddOwnAddress({ form }: Pick<AllowListEditorProps, 'form'>) {
  const [own, setOwn] = useState<{ readonly rule: string }>();
  // The person may have edited the list while the answer was on its way.
  const onOwn = useEffectEvent((rule: string) => {
    const next = addSourceAddress(form.values.allow, rule);
    if (next.ok) form.set('allow', next.value);
  });
  useEffect(() => {
    if (own) onOwn(own.rule);
  }, [own]);
  const adding = useTask(async () => {
    try {
      const { address } = await callApi(accountCalls.getOwnAddress, {});
      const rule = ownAddressRule(address);
      if (!rule.ok) throw new Error(rule.message);
      setOwn({ rule: rule.value });
    } catch (error) {
      toast.failed('Your address could not be added.', messageOf(error) ?? text.error.fallback);
    }
  });
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Button size="sm" busy={adding.busy} onClick={() => adding.run()}>
        Add my address
      </Button>
      <p role="status" className="text-sm text-ink-soft">
        {own && ownAddressNote(own.rule)}
      </p>
    </div>
  );
}

/** A browser with both kinds of address reaches a tunnel by either. */
const ownAddressNote = (rule: string): string =>
  rule.includes(':')
    ? `${rule} is the IPv6 network that you use now. If you also have an IPv4 address, add it too.`
    : `${rule} is the address that you use now. If you also have an IPv6 address, add it too.`;

function OpenWarning({ rules, readOnly }: { readonly rules: readonly string[]; readonly readOnly: boolean }) {
  if (rules.length === 0) return null;
  const every = rules.map((rule) => `${rule} allows every ${rule.includes(':') ? 'IPv6' : 'IPv4'} address.`).join(' ');
  const fix = `To limit access, remove ${rules.length === 1 ? 'this rule' : 'these rules'} and add your own.`;
  return (
    <Banner tone="warn" title="Anyone on the internet can connect.">
      {readOnly ? every : `${every} ${fix}`}
    </Banner>
  );
}
