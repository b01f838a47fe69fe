// Edits an access policy: ways to sign in, rules for paths, sessions. One Save for all of it.
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { admitsNobody, isOpen } from '@underpass/rules/visit/describe.ts';
import clsx from 'clsx';
import { FormFailure } from '../../form/form-failure.tsx';
import { LoadNewest } from '../../form/load-newest.tsx';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { PathRules } from './path-rules.tsx';
import { describedPolicyOf } from './policy-form.ts';
import { SessionFields } from './session-fields.tsx';
import { SignInFields } from './sign-in-fields.tsx';
import type { PolicyEdit } from './use-policy-form.ts';

interface PolicyEditorProps {
  readonly policy: AccessPolicy;
  readonly edit: PolicyEdit;
  readonly readOnly: boolean;
}

export function PolicyEditor({ policy, edit, readOnly }: PolicyEditorProps) {
  const { form } = edit;
  const parts = { form, policy, readOnly };
  return (
    <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="grid gap-5">
      <FormFailure
        form={form}
        title="The access policy was not saved."
        action={edit.isOutdated && <LoadNewest onClick={edit.loadNewest} />}
      />
      <Warnings policy={policy} edit={edit} />
      {/* Disables every control of a reader who may not change the policy. */}
      <fieldset disabled={readOnly} aria-label="Access policy" className="grid min-w-0 gap-5">
        <Card title="Sign-in" description="A visitor needs one of these. The security group is checked first, for everybody.">
          <SignInFields {...parts} />
        </Card>
        <Card title="Paths" description="The first rule that matches decides. A path that no rule matches needs a sign-in.">
          <PathRules {...parts} />
        </Card>
        <Card title="Sessions">
          <SessionFields {...parts} />
        </Card>
      </fieldset>
      {!readOnly && <SaveBar edit={edit} />}
    </form>
  );
}

/** Stays in view while there is something to save: the form is longer than a window. */
function SaveBar({ edit: { form, changed, loadNewest } }: { readonly edit: PolicyEdit }) {
  return (
    <div className={clsx('-mx-1 flex justify-end gap-2 px-1 py-3', changed && 'sticky bottom-0 z-10 border-t bg-bg')}>
      <Button onClick={loadNewest} disabled={!changed || form.busy}>
        Cancel
      </Button>
      <Button type="submit" variant="primary" disabled={!changed} busy={form.busy}>
        Save
      </Button>
    </div>
  );
}

function Warnings({ policy, edit }: { readonly policy: AccessPolicy; readonly edit: PolicyEdit }) {
  const described = describedPolicyOf(edit.form.values, policy);
  if (isOpen(described)) {
    return (
      <Banner tone="warn" title="Everybody may visit everything.">
        The first rule makes every path public, so nobody is asked to sign in.
      </Banner>
    );
  }
  if (!admitsNobody(described)) return null;
  return (
    <Banner tone="warn" title="Nobody may visit.">
      {described.rules[0]?.path === '/*' && described.rules[0].action === 'deny'
        ? 'The first rule refuses every path.'
        : 'Choose who may sign in, create a token or a share link, or make a path public.'}
    </Banner>
  );
}
