// One access policy: who may visit, its tokens, links and programs, and its test. The tab is part of the address.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import { may } from '@underpass/rules/people/permission.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import {
  Link,
  type LoaderFunctionArgs,
  type ShouldRevalidateFunctionArgs,
  useLoaderData,
  useParams,
  useSearchParams,
} from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Links } from './links.tsx';
import { PolicyEditor } from './policy-editor.tsx';
import { PolicyMenu } from './policy-menu.tsx';
import { PolicyTest } from './policy-test.tsx';
import { Programs } from './programs.tsx';
import { Tokens } from './tokens.tsx';
import { usePolicyForm } from './use-policy-form.ts';

export function loader({ params, request }: LoaderFunctionArgs) {
  const input = { project: params.projectID!, name: params.policy! };
  return { policy: later(callApi(accessCalls.getAccessPolicy, input, { signal: request.signal })) };
}

/** The tab changes nothing that is loaded here. */
export function shouldRevalidate({ currentUrl, nextUrl, defaultShouldRevalidate }: ShouldRevalidateFunctionArgs) {
  const isOtherTab = currentUrl.pathname === nextUrl.pathname && currentUrl.search !== nextUrl.search;
  return defaultShouldRevalidate && !isOtherTab;
}

export function Component() {
  const { policy } = useLoaderData<typeof loader>();
  const { policy: name = '' } = useParams();
  const back = paths.accessPolicies(useProject().id);
  const header = <PageHeader title={name} back={back} />;
  return (
    <Load
      promise={policy}
      fallbackHeader={header}
      failedHeader={header}
      thing={{ name, list: back, listLabel: 'Access policies' }}
    >
      {(loaded) => <PolicyView policy={loaded} />}
    </Load>
  );
}

const tabs = [
  { value: 'who', label: 'Visitors' },
  { value: 'tokens', label: 'Tokens' },
  { value: 'links', label: 'Links' },
  { value: 'programs', label: 'Programs' },
  { value: 'test', label: 'Test' },
] as const;

type Tab = (typeof tabs)[number]['value'];

/** The form lives here: its changes stay while other tabs are open. */
function PolicyView({ policy }: { readonly policy: AccessPolicy }) {
  const project = useProject();
  const [search, setSearch] = useSearchParams();
  const edit = usePolicyForm(policy);
  const readOnly = !may(project.role, 'access-policy.update');
  const shown = may(project.role, 'access-sign-in.read') ? tabs : tabs.filter(({ value }) => value !== 'programs');
  const tab = shown.find(({ value }) => value === search.get('tab'))?.value ?? 'who';
  const open = (next: Tab) => setSearch(next === 'who' ? {} : { tab: next }, { replace: true, preventScrollReset: true });
  return (
    <>
      <PolicyHeader policy={policy} readOnly={readOnly} />
      <Tabs label="Access policy" value={tab} onChange={open} tabs={shown}>
        <div className="grid max-w-4xl gap-5">
          {edit.changed && tab !== 'who' && <Banner>Your changes under ‘Visitors’ are not saved yet.</Banner>}
          {tab === 'who' && <PolicyEditor policy={policy} edit={edit} readOnly={readOnly} />}
          {tab === 'tokens' && <Tokens policy={policy} readOnly={readOnly} />}
          {tab === 'links' && <Links policy={policy} readOnly={readOnly} />}
          {tab === 'programs' && <Programs policy={policy} readOnly={readOnly} />}
          {tab === 'test' && <PolicyTest policy={policy} />}
        </div>
      </Tabs>
    </>
  );
}

function PolicyHeader({ policy, readOnly }: { readonly policy: AccessPolicy; readonly readOnly: boolean }) {
  const project = useProject();
  const log = may(project.role, 'access-sign-in.read') && (
    <ButtonLink to={`${paths.accessSignIns(project.id)}?policy=${encodeURIComponent(policy.name)}`}>Sign-in log</ButtonLink>
  );
  return (
    <PageHeader
      title={policy.name}
      back={paths.accessPolicies(project.id)}
      subtitle={<Attached policy={policy} />}
      actions={
        <>
          {log}
          {!readOnly && <PolicyMenu policy={policy} />}
        </>
      }
    />
  );
}

function Attached({ policy: { tunnels } }: { readonly policy: AccessPolicy }) {
  const project = useProject();
  if (tunnels.length === 0) return 'Not used yet. Open an http tunnel, choose Edit, and select this policy.';
  return (
    <>
      Used by{' '}
      {tunnels.map((tunnel, index) => (
        <span key={tunnel}>
          {index > 0 && ', '}
          <Link to={paths.tunnel(project.id, tunnel)} className="underline underline-offset-4 hover:text-ink">
            {tunnel}
          </Link>
        </span>
      ))}
    </>
  );
}
