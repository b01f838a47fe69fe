// The route table, in the order of spec section 2, then what the product has beyond it. Every page is its own chunk.
// A page module exports Component, and where it needs them loader and action.
import { type RouteObject, redirect } from 'react-router';
import { paths } from './paths.ts';
import { loadSession, projectOfScreen, SHELL_ROUTE } from './session.ts';
import { ApplicationError } from './shell/application-error.tsx';
import { PageError } from './shell/page-error.tsx';
import { FirstLoad, Root } from './shell/root.tsx';

/** spec 2: home goes to /login, or to the dashboard of the selected project. */
async function home() {
  const session = await loadSession();
  if (!session) return redirect(paths.login());
  const project = projectOfScreen(session, undefined);
  return redirect(project ? paths.dashboard(project.id) : paths.noProject());
}

const publicPages: RouteObject[] = [
  { path: 'login', lazy: () => import('./pages/login.tsx') },
  { path: 'register', lazy: () => import('./pages/register.tsx') },
  { path: 'privacy-policy', lazy: () => import('./pages/legal/privacy-policy-page.tsx') },
  { path: 'terms-of-service', lazy: () => import('./pages/legal/terms-of-service-page.tsx') },
  { path: 'login/:token', lazy: () => import('./pages/token-sign-in.tsx') },
  { path: 'magiclink/:token?', lazy: () => import('./pages/token-sign-in.tsx') },
  { path: 'abuse', lazy: () => import('./pages/report-abuse.tsx') },
  { path: '*', lazy: () => import('./pages/not-found.tsx') },
];

const projectPages: RouteObject[] = [
  { path: 'projects/:projectID/dashboard', lazy: () => import('./pages/dashboard/dashboard.tsx') },
  { path: 'projects/:projectID/domains', lazy: () => import('./pages/domains/domains.tsx') },
  { path: 'projects/:projectID/domains/:name', lazy: () => import('./pages/domains/domain.tsx') },
  { path: 'projects/:projectID/tunnels', lazy: () => import('./pages/tunnels/tunnels.tsx') },
  { path: 'projects/:projectID/tunnels/:name', lazy: () => import('./pages/tunnel/tunnel.tsx') },
  { path: 'projects/:projectID/tunnels/:tunnel/domains/:name', lazy: () => import('./pages/domains/tunnel-domain.tsx') },
  { path: 'projects/:projectID/security-groups', lazy: () => import('./pages/security-groups/security-groups.tsx') },
  {
    path: 'projects/:projectID/security-groups/:securityGroup',
    lazy: () => import('./pages/security-groups/security-group.tsx'),
  },
  { path: 'download', lazy: () => import('./pages/download/download.tsx') },
];

const beyondTheSpec: RouteObject[] = [
  { path: 'download/releases', lazy: () => import('./pages/download/releases.tsx') },
  { path: 'projects/:projectID/members', lazy: () => import('./pages/project/members.tsx') },
  { path: 'projects/:projectID/tokens', lazy: () => import('./pages/project/tokens.tsx') },
  { path: 'projects/:projectID/audit', lazy: () => import('./pages/project/audit.tsx') },
  { path: 'projects/:projectID/settings', lazy: () => import('./pages/project/settings.tsx') },
  { path: 'new-project', lazy: () => import('./pages/project/new-project.tsx') },
  { path: 'no-project', lazy: () => import('./pages/no-project.tsx') },
  { path: 'sessions', lazy: () => import('./pages/sessions.tsx') },
  { path: 'activate', lazy: () => import('./pages/activate.tsx') },
  { path: 'invitations/:token', lazy: () => import('./pages/invitation.tsx') },
  {
    path: 'operator',
    lazy: () => import('./pages/operator/operator-layout.tsx'),
    children: [
      { index: true, loader: () => redirect(paths.operator('registrations')) },
      { path: 'registrations', lazy: () => import('./pages/operator/registrations.tsx') },
      { path: 'subscriptions', lazy: () => import('./pages/operator/subscriptions.tsx') },
      { path: 'users', lazy: () => import('./pages/operator/users.tsx') },
      { path: 'projects', lazy: () => import('./pages/operator/projects.tsx') },
      { path: 'tunnels', lazy: () => import('./pages/operator/tunnels.tsx') },
      { path: 'regions', lazy: () => import('./pages/operator/regions.tsx') },
      { path: 'edges', lazy: () => import('./pages/operator/edges.tsx') },
      { path: 'abuse-reports', lazy: () => import('./pages/operator/abuse-reports.tsx') },
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
        lazy: () => import('./shell/public-layout.tsx'),
        children: [{ ErrorBoundary: PageError, children: publicPages }],
      },
      {
        id: SHELL_ROUTE,
        lazy: () => import('./shell/project-shell.tsx'),
        children: [{ ErrorBoundary: PageError, children: [...projectPages, ...beyondTheSpec] }],
      },
    ],
  },
];
