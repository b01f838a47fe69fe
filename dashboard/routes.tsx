// The route table, in the order of spec section 2, then the pages beyond the spec. Every page is its own chunk.
// A page module exports Component and, if it needs them, loader and action.
import { type LoaderFunction, type RouteObject, redirect, redirectDocument } from 'react-router';
import { withFirstData } from './api/first-data.ts';
import { loadCode } from './code-loading/load-code.ts';
import { loadLater } from './code-loading/load-later.ts';
import { paths } from './routing/paths.ts';
import { loadSession, projectOfScreen, shellRoute } from './session/session.ts';
import { ApplicationError } from './shell/application-error.tsx';
import { FirstLoad } from './shell/first-frame.tsx';
import { PageError } from './shell/page-error.tsx';
import { Root } from './shell/root.tsx';

interface PageModule {
  readonly Component: React.ComponentType;
  readonly loader?: LoaderFunction;
}

const page =
  <Module extends PageModule>(load: () => Promise<Module>) =>
  async (): Promise<Module> => {
    const module = await loadCode(load);
    return module.loader ? { ...module, loader: withFirstData(module.loader) } : module;
  };

/** Goes to /login, or to the dashboard of the selected project (spec 2). */
async function home() {
  const session = await loadSession();
  if (!session) return redirect(paths.login());
  const project = projectOfScreen(session, undefined);
  return redirect(project ? paths.dashboard(project.id) : paths.noProject());
}

/** The pages that people open most. Their code loads once the first page of the shell has shown, so that the next shows at once. */
for (const load of [
  () => import('./pages/dashboard/dashboard.tsx'),
  () => import('./pages/tunnels/tunnels.tsx'),
  () => import('./pages/tunnel/tunnel.tsx'),
  () => import('./pages/domains/domains.tsx'),
  () => import('./pages/domains/domain.tsx'),
  () => import('./pages/security-groups/security-groups.tsx'),
  () => import('./pages/security-groups/security-group.tsx'),
])
  loadLater(load);

const publicPages: RouteObject[] = [
  { path: 'login', lazy: page(() => import('./pages/login.tsx')) },
  { path: 'register', lazy: page(() => import('./pages/register.tsx')) },
  { path: 'privacy-policy', lazy: page(() => import('./pages/legal/privacy-policy-page.tsx')) },
  { path: 'terms-of-service', lazy: page(() => import('./pages/legal/terms-of-service-page.tsx')) },
  { path: 'login/:token', lazy: page(() => import('./pages/token-sign-in.tsx')) },
  { path: 'magiclink/:token?', lazy: page(() => import('./pages/token-sign-in.tsx')) },
  { path: 'confirm/:token', lazy: page(() => import('./pages/confirm.tsx')) },
  { path: 'invitations/:token', lazy: page(() => import('./pages/invitation.tsx')) },
  { path: 'invitations/:token/register', lazy: page(() => import('./pages/register.tsx')) },
  { path: 'abuse', lazy: page(() => import('./pages/report-abuse.tsx')) },
  { path: '*', lazy: page(() => import('./pages/not-found.tsx')) },
];

const projectPages: RouteObject[] = [
  { path: 'projects/:projectID/dashboard', lazy: page(() => import('./pages/dashboard/dashboard.tsx')) },
  { path: 'projects/:projectID/domains', lazy: page(() => import('./pages/domains/domains.tsx')) },
  { path: 'projects/:projectID/domains/:name', lazy: page(() => import('./pages/domains/domain.tsx')) },
  { path: 'projects/:projectID/tunnels', lazy: page(() => import('./pages/tunnels/tunnels.tsx')) },
  { path: 'projects/:projectID/tunnels/:name', lazy: page(() => import('./pages/tunnel/tunnel.tsx')) },
  { path: 'projects/:projectID/tunnels/:tunnel/domains/:name', lazy: page(() => import('./pages/domains/tunnel-domain.tsx')) },
  { path: 'projects/:projectID/security-groups', lazy: page(() => import('./pages/security-groups/security-groups.tsx')) },
  {
    path: 'projects/:projectID/security-groups/:securityGroup',
    lazy: page(() => import('./pages/security-groups/security-group.tsx')),
  },
  { path: 'download', lazy: page(() => import('./pages/download/download.tsx')) },
];

const beyondTheSpec: RouteObject[] = [
  // Pages of control, to which a sign-in can lead back.
  { path: 'access/*', loader: ({ request }) => redirectDocument(request.url) },
  { path: 'download/releases', lazy: page(() => import('./pages/download/releases.tsx')) },
  { path: 'projects/:projectID/tunnels/:name/visitors', lazy: page(() => import('./pages/tunnel/visitors.tsx')) },
  { path: 'projects/:projectID/access', lazy: page(() => import('./pages/access/policies.tsx')) },
  { path: 'projects/:projectID/access/policies/:policy', lazy: page(() => import('./pages/access/policy.tsx')) },
  { path: 'projects/:projectID/access/sign-ins', lazy: page(() => import('./pages/access/sign-ins.tsx')) },
  { path: 'projects/:projectID/alerts', lazy: page(() => import('./pages/alerts/alerts.tsx')) },
  { path: 'projects/:projectID/members', lazy: page(() => import('./pages/project/members.tsx')) },
  { path: 'projects/:projectID/tokens', lazy: page(() => import('./pages/project/tokens.tsx')) },
  { path: 'projects/:projectID/audit', lazy: page(() => import('./pages/project/audit.tsx')) },
  { path: 'projects/:projectID/usage', lazy: page(() => import('./pages/project/usage.tsx')) },
  { path: 'projects/:projectID/settings', lazy: page(() => import('./pages/project/settings.tsx')) },
  { path: 'new-project', lazy: page(() => import('./pages/project/new-project.tsx')) },
  { path: 'no-project', lazy: page(() => import('./pages/no-project.tsx')) },
  { path: 'account', lazy: page(() => import('./pages/account.tsx')) },
  { path: 'activate', lazy: page(() => import('./pages/activate.tsx')) },
  {
    path: 'operator',
    lazy: page(() => import('./pages/operator/operator-layout.tsx')),
    children: [
      { index: true, lazy: page(() => import('./pages/operator/overview.tsx')) },
      { path: 'registrations', lazy: page(() => import('./pages/operator/registrations.tsx')) },
      { path: 'subscriptions', lazy: page(() => import('./pages/operator/subscriptions.tsx')) },
      { path: 'users', lazy: page(() => import('./pages/operator/users.tsx')) },
      { path: 'projects', lazy: page(() => import('./pages/operator/projects.tsx')) },
      { path: 'tunnels', lazy: page(() => import('./pages/operator/tunnels.tsx')) },
      { path: 'regions', lazy: page(() => import('./pages/operator/regions.tsx')) },
      { path: 'edges', lazy: page(() => import('./pages/operator/edges.tsx')) },
      { path: 'blocks', lazy: page(() => import('./pages/operator/blocks.tsx')) },
      { path: 'abuse-reports', lazy: page(() => import('./pages/operator/abuse-reports.tsx')) },
      { path: 'audit', lazy: page(() => import('./pages/operator/audit.tsx')) },
    ],
  },
];

export const routes: RouteObject[] = [
  {
    path: '/',
    Component: Root,
    HydrateFallback: FirstLoad,
    ErrorBoundary: ApplicationError,
    children: [
      { index: true, loader: home },
      {
        lazy: page(() => import('./shell/public-layout.tsx')),
        children: [{ ErrorBoundary: PageError, children: publicPages }],
      },
      {
        id: shellRoute,
        lazy: page(() => import('./shell/project-shell.tsx')),
        children: [{ ErrorBoundary: PageError, children: [...projectPages, ...beyondTheSpec] }],
      },
    ],
  },
];
