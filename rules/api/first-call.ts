// The call with which a page of a project begins. The server names it with the page, so that a browser makes it while the scripts
// still load. Its URL must be the one that the page asks for, to the letter: otherwise the browser asks twice. Pure.

import { askedOf } from '../list/list-address.ts';
import { accessPolicyList, domainList, securityGroupList, tunnelList } from '../list/list-page.ts';
import { accessCalls } from './access-calls.ts';
import { urlOf } from './call.ts';
import { domainCalls } from './domain-calls.ts';
import { securityGroupCalls } from './security-group-calls.ts';
import { tunnelCalls } from './tunnel-calls.ts';

type Find = (project: string, search: URLSearchParams) => string;

const lists: ReadonlyMap<string, Find> = new Map([
  ['tunnels', (project, search) => urlOf(tunnelCalls.listTunnels, { project, ...askedOf(search, tunnelList) })],
  ['domains', (project, search) => urlOf(domainCalls.listDomains, { project, ...askedOf(search, domainList) })],
  [
    'security-groups',
    (project, search) => urlOf(securityGroupCalls.listSecurityGroups, { project, ...askedOf(search, securityGroupList) }),
  ],
  ['access', (project, search) => urlOf(accessCalls.listAccessPolicies, { project, ...askedOf(search, accessPolicyList) })],
]);

/** Other names are not taken apart: a page without a first call only loads a little later. */
const plainPath = /^\/projects\/([\w-]+)\/([\w-]+)(?:\/([\w-]+))?$/;

/** The URL of a page's first call; undefined for a page that it does not know. */
export function findFirstCall({ pathname, searchParams }: URL): string | undefined {
  const [, project, area = '', name] = plainPath.exec(pathname) ?? [];
  if (project === undefined) return undefined;
  if (name === undefined) return lists.get(area)?.(project, searchParams);
  return area === 'tunnels' ? urlOf(tunnelCalls.getTunnel, { project, name, metrics: '1' }) : undefined;
}
