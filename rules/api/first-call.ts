// The calls with which a page of a project begins. The server names them with the page, so that a browser makes them while the
// scripts still load. Their URLs must be the ones that the page asks for, to the letter: otherwise the browser asks twice. Pure.

import { askedOf } from '../list/list-address.ts';
import { accessPolicyList, domainList, securityGroupList, tunnelList } from '../list/list-page.ts';
import { accessCalls } from './access-calls.ts';
import { urlOf } from './call.ts';
import { domainCalls } from './domain-calls.ts';
import { projectCalls } from './project-calls.ts';
import { securityGroupCalls } from './security-group-calls.ts';
import { tunnelCalls } from './tunnel-calls.ts';

type Find = (project: string, search: URLSearchParams) => string;

const pages: ReadonlyMap<string, Find> = new Map<string, Find>([
  ['dashboard', (project) => urlOf(projectCalls.getOverview, { project })],
  ['tunnels', (project, search) => urlOf(tunnelCalls.listTunnels, { project, ...askedOf(search, tunnelList) })],
  ['domains', (project, search) => urlOf(domainCalls.listDomains, { project, ...askedOf(search, domainList) })],
  [
    'security-groups',
    (project, search) => urlOf(securityGroupCalls.listSecurityGroups, { project, ...askedOf(search, securityGroupList) }),
  ],
  ['access', (project, search) => urlOf(accessCalls.listAccessPolicies, { project, ...askedOf(search, accessPolicyList) })],
]);

/** Other names are not taken apart: a page without first calls only loads a little later. */
const plainPath = /^\/projects\/([\w-]+)\/([\w-]+)(?:\/([\w-]+))?$/;

/** Names the screen of a path for the page that loads its files (dashboard/bundle/first-load.ts). / leads to the dashboard. */
export function screenOf(pathname: string): string {
  if (pathname === '/') return 'dashboard';
  const [, , area = '', name] = plainPath.exec(pathname) ?? [];
  return name === undefined ? area : `${area}.one`;
}

/**
 * The URLs of a page's first calls; none for a page that it does not know. Only what the page waits for to show its content: over
 * HTTP/1.1 a browser makes six calls at a time, and the scripts are among them.
 */
export function findFirstCalls({ pathname, searchParams }: URL): readonly string[] {
  const [, project, area = '', name] = plainPath.exec(pathname) ?? [];
  if (project === undefined) return [];
  if (name === undefined) return [pages.get(area)?.(project, searchParams) ?? []].flat();
  if (area !== 'tunnels') return [];
  return [
    urlOf(tunnelCalls.getTunnel, { project, name, metrics: '1' }),
    urlOf(tunnelCalls.checkTunnelDomains, { project, name }),
  ];
}
