// The only place that spells the URLs of the dashboard. routes.tsx matches them; paths.test.ts compares the two.

const seg = encodeURIComponent;
const inProject = (projectId: string, rest: string) => `/projects/${seg(projectId)}/${rest}`;

export const paths = {
  home: () => '/',
  login: () => '/login',
  register: () => '/register',
  privacyPolicy: () => '/privacy-policy',
  termsOfService: () => '/terms-of-service',
  abuse: () => '/abuse',
  activate: () => '/activate',
  noProject: () => '/no-project',
  download: () => '/download',
  releases: () => '/download/releases',
  account: () => '/account',
  invitation: (token: string) => `/invitations/${seg(token)}`,
  registerInvited: (token: string) => `/invitations/${seg(token)}/register`,

  dashboard: (projectId: string) => inProject(projectId, 'dashboard'),
  domains: (projectId: string) => inProject(projectId, 'domains'),
  domain: (projectId: string, name: string) => inProject(projectId, `domains/${seg(name)}`),
  tunnels: (projectId: string) => inProject(projectId, 'tunnels'),
  tunnel: (projectId: string, name: string) => inProject(projectId, `tunnels/${seg(name)}`),
  visitors: (projectId: string, name: string) => inProject(projectId, `tunnels/${seg(name)}/visitors`),
  tunnelDomain: (projectId: string, tunnel: string, name: string) =>
    inProject(projectId, `tunnels/${seg(tunnel)}/domains/${seg(name)}`),
  securityGroups: (projectId: string) => inProject(projectId, 'security-groups'),
  securityGroup: (projectId: string, name: string) => inProject(projectId, `security-groups/${seg(name)}`),
  accessPolicies: (projectId: string) => inProject(projectId, 'access'),
  accessPolicy: (projectId: string, name: string) => inProject(projectId, `access/policies/${seg(name)}`),
  accessSignIns: (projectId: string) => inProject(projectId, 'access/sign-ins'),
  alerts: (projectId: string) => inProject(projectId, 'alerts'),
  members: (projectId: string) => inProject(projectId, 'members'),
  tokens: (projectId: string) => inProject(projectId, 'tokens'),
  audit: (projectId: string) => inProject(projectId, 'audit'),
  usage: (projectId: string) => inProject(projectId, 'usage'),
  settings: (projectId: string) => inProject(projectId, 'settings'),
  newProject: () => '/new-project',

  operatorHome: () => '/operator',
  operator: (page: OperatorPage) => `/operator/${page}`,
} as const;

/** Matches what `paths.tunnel` spells. */
export const tunnelPattern = '/projects/:projectID/tunnels/:name';

/** Matches the pages of operators, which stand outside any project. */
export const operatorPattern = '/operator/*';

/** Search parameter of the tunnels list that opens the New Tunnel panel. */
export const newTunnelParam = 'new';

/** The same for the panels of the domains, the members and the API tokens. */
export const newDomainParam = 'new';
export const inviteParam = 'invite';
export const newTokenParam = 'new';

export type OperatorPage =
  | 'registrations'
  | 'subscriptions'
  | 'users'
  | 'projects'
  | 'tunnels'
  | 'regions'
  | 'edges'
  | 'blocks'
  | 'abuse-reports'
  | 'audit';
