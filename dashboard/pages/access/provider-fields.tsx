// Sign-in through an OpenID Connect provider: its client, and which of its users the policy admits.
import { accept } from '@underpass/rules/parsed.ts';
import { parseIssuer } from '@underpass/rules/visit/parse-provider.ts';
import { providerCallbackPath } from '@underpass/rules/visit/provider-callback.ts';
import { ListField } from '../../form/list-field.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { CopyTextButton } from '../../ui/copy-button.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { addPerson, describedPolicyOf, splitGroups } from './policy-form.ts';
import type { PolicyPartProps } from './use-policy-form.ts';

export function ProviderFields(props: PolicyPartProps) {
  const { form, readOnly } = props;
  const { hasProvider } = form.values;
  return (
    <div className="grid gap-4">
      <Switch
        label="Sign-in provider"
        hint="Google, Microsoft Entra, Keycloak, or any other with OpenID Connect."
        checked={hasProvider}
        onChange={(next) => form.set('hasProvider', next)}
        disabled={readOnly}
      />
      {hasProvider && (
        <div className="grid gap-5 border-l-2 pl-4">
          <IssuerFields {...props} />
          <RedirectAddress issuer={props.form.values.issuer} />
          <ClientFields {...props} />
          <AdmittedFields {...props} />
        </div>
      )}
    </div>
  );
}

function RedirectAddress({ issuer: typed }: { readonly issuer: string }) {
  const project = useProject();
  const issuer = parseIssuer(typed, { plainLoopback: true });
  if (!issuer.ok)
    return (
      <p className="text-sm text-ink-soft">The redirect URI for the provider shows here once you have entered its issuer.</p>
    );
  // Control serves the dashboard, so its address is this page's.
  const address = location.origin + providerCallbackPath(project.id, issuer.value);
  return (
    <div className="grid gap-1.5">
      <p className="text-sm font-semibold">Redirect URI</p>
      <div className="flex flex-wrap items-center gap-2 rounded-md border bg-sunken p-2 pl-3">
        <output aria-label="Redirect URI" className="min-w-0 flex-1 basis-56 font-mono text-sm break-all select-all">
          {address}
        </output>
        <CopyTextButton text={address} />
      </div>
      <p className="text-sm text-ink-soft">Register a web application with this address at the provider.</p>
    </div>
  );
}

function IssuerFields({ form }: PolicyPartProps) {
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField
        form={form}
        name="issuer"
        label="Issuer"
        mono
        type="url"
        placeholder="https://accounts.google.com"
        autoComplete="off"
      />
      <TextField form={form} name="label" label="Name on the button" optional placeholder="Google" autoComplete="off" />
    </div>
  );
}

function ClientFields({ form, policy, readOnly }: PolicyPartProps) {
  const keepsSecret = policy.provider !== null;
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField form={form} name="clientId" label="Client ID" mono autoComplete="off" />
      {!readOnly && (
        <TextField
          form={form}
          name="clientSecret"
          label={keepsSecret ? 'New client secret' : 'Client secret'}
          optional={keepsSecret}
          hint={keepsSecret ? 'Leave this empty to keep the secret.' : undefined}
          mono
          type="password"
          autoComplete="new-password"
        />
      )}
    </div>
  );
}

function AdmittedFields({ form, policy, readOnly }: PolicyPartProps) {
  const { values } = form;
  const { provider } = describedPolicyOf(values, policy);
  const admitsNobody = provider !== null && provider.people.length === 0 && provider.groups.length === 0;
  return (
    <>
      {admitsNobody && <Banner tone="warn">List people or groups. Without either, the provider admits nobody.</Banner>}
      <ListField
        form={form}
        name="providerPeople"
        pending="providerPeoplePending"
        label="Allowed people"
        add={addPerson}
        hint="Email addresses that the provider has verified, or *@example.com for everyone at example.com."
        placeholder="*@example.com"
        emptyText="No people yet."
        disabled={readOnly}
      />
      <ListField
        form={form}
        name="groups"
        pending="groupsPending"
        label="Allowed groups"
        add={addGroup}
        hint="Members of any of these may visit."
        placeholder="engineering"
        emptyText="No groups yet."
        disabled={readOnly}
      />
      <TextField
        form={form}
        name="groupClaim"
        label="Group claim"
        hint="The claim in which the provider lists a person's groups."
        mono
        placeholder="groups"
        autoComplete="off"
        className="max-w-md"
      />
    </>
  );
}

const addGroup = (groups: readonly string[], typed: string) => accept([...new Set([...groups, ...splitGroups(typed)])]);
