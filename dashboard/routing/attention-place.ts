// The page where something that needs attention is mended, for the first screen and the alerts.

import type { Project } from '@underpass/rules/entity/entity.ts';
import { may } from '@underpass/rules/people/permission.ts';
import type { AlertKind } from '@underpass/rules/tunnel/alert.ts';
import type { AttentionItem, AttentionKind } from '@underpass/rules/tunnel/attention.ts';
import { paths } from './paths.ts';

interface Item extends Pick<AttentionItem, 'tunnel' | 'domain' | 'quota'> {
  readonly kind: AttentionKind | AlertKind;
}

export function placeOf({ kind, tunnel = '', domain = '', quota }: Item, { id: project, role }: Project): string {
  switch (kind) {
    case 'domain-unverified':
    case 'domain-losing':
      return paths.domain(project, domain);
    case 'domain-elsewhere':
    case 'own-certificate-ended':
    case 'own-certificate-ending':
      return paths.tunnelDomain(project, tunnel, domain);
    case 'domain-lost':
      return paths.domains(project);
    case 'owner-added':
      return paths.members(project);
    case 'token-created':
    case 'token-ending':
      return paths.tokens(project);
    case 'project-suspended':
    case 'region-down':
      return paths.tunnels(project);
    case 'quota-full':
    case 'quota-near':
      return quota === 'apiTokens' && !may(role, 'api-token.read') ? paths.members(project) : placeOfQuota(quota, project);
    case 'tunnel-down':
    case 'upstream-failing':
    case 'port-closed':
    case 'tunnel-suspended':
    case 'certificate-missing':
    case 'certificate-ending':
    case 'domain-blocked':
    case 'client-refused':
      return paths.tunnel(project, tunnel);
  }
}

function placeOfQuota(quota: AttentionItem['quota'], project: string): string {
  if (quota === 'gigabytesPerMonth') return paths.usage(project);
  if (quota === 'domains') return paths.domains(project);
  if (quota === 'securityGroups') return paths.securityGroups(project);
  if (quota === 'accessPolicies') return paths.accessPolicies(project);
  if (quota === 'apiTokens') return paths.tokens(project);
  return quota === 'members' ? paths.members(project) : paths.tunnels(project);
}
