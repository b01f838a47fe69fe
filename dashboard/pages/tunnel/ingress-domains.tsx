// The ingress domains of the tunnel (spec 2, Domains list on the tunnel).
import { type DomainBadge, decideDomainBadge, domainBadgeLabels, showsConfigureDns } from '@underpass/rules/domain-badge.ts';
import type { DnsCheck, IngressDomain, Tunnel } from '@underpass/rules/entity.ts';
import { text } from '@underpass/rules/text.ts';
import { ArrowUpRight } from 'lucide-react';
import { useLocation } from 'react-router';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';

const TONES: Record<DomainBadge, Tone> = { loading: 'neutral', unverified: 'warn', no_dns: 'danger', dns_ok: 'ok' };

export interface IngressDomainsProps {
  readonly tunnel: Tunnel;
  readonly checks: ReadonlyMap<string, DnsCheck>;
}

export function IngressDomains({ tunnel, checks }: IngressDomainsProps) {
  const { ingressDomains } = tunnel;
  return (
    <Card title="Domains" flush>
      {ingressDomains.length === 0 ? (
        <p className="border-t px-4 py-6 text-center text-ink-soft sm:px-5">{text.tunnels.noIngressDomains}</p>
      ) : (
        <ul aria-label="Ingress domains" className="divide-y border-t">
          {ingressDomains.map((domain) => (
            <DomainRow
              key={domain.name}
              tunnel={tunnel.name}
              domain={domain}
              badge={decideDomainBadge(domain, checks.get(domain.name))}
            />
          ))}
        </ul>
      )}
    </Card>
  );
}

interface DomainRowProps {
  readonly tunnel: string;
  readonly domain: IngressDomain;
  readonly badge: DomainBadge;
}

function DomainRow({ tunnel, domain, badge }: DomainRowProps) {
  const project = useProject();
  const { pathname } = useLocation();
  const label = domainBadgeLabels[badge];
  return (
    <li className="flex min-h-13 flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 sm:px-5">
      <span className="flex min-w-0 items-center gap-1">
        <a
          href={domain.url}
          target="_blank"
          rel="noreferrer"
          className="inline-flex min-w-0 items-center gap-1 font-semibold wrap-anywhere underline decoration-line underline-offset-4 hover:decoration-current"
        >
          {domain.name}
          <ArrowUpRight aria-hidden="true" className="size-4 shrink-0 text-ink-faint" />
        </a>
        <CopyButton text={domain.url} what={`address of ${domain.name}`} />
      </span>
      {label && (
        <Badge tone={TONES[badge]} dot="ring">
          {label}
        </Badge>
      )}
      {showsConfigureDns(domain) && (
        <ButtonLink
          size="sm"
          to={paths.tunnelDomain(project.id, tunnel, domain.name)}
          state={{ back: pathname }}
          className="ml-auto"
          aria-label={`Configure DNS of ${domain.name}`}
        >
          Configure DNS
        </ButtonLink>
      )}
    </li>
  );
}
