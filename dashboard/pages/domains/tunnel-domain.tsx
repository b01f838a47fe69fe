// A domain opened through one of its tunnels: how to verify it, and the DNS record that points at the data plane.
import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import type { Domain, IngressDomain, Tunnel } from '@underpass/rules/entity/entity.ts';
import { ingressRecord } from '@underpass/rules/names/dns-record.ts';
import { type DomainBadge, domainBadgeLabels } from '@underpass/rules/screen/domain-badge.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { RefreshCw } from 'lucide-react';
import { type LoaderFunctionArgs, useLoaderData, useParams, useRevalidator } from 'react-router';
import { answers } from '../../api/answers.ts';
import { ApiError } from '../../api/error.ts';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { getTunnel } from '../../api/tunnels.ts';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { Ring } from '../../ui/spinner.tsx';
import { askDomainChecks, type DomainChecks, useDomainChecks } from '../tunnel/domain-checks.ts';
import { useBack } from './back.ts';
import { CertificateCard } from './certificate-card.tsx';
import { DnsRecordView } from './dns-record-view.tsx';
import { VerificationCard } from './verification-card.tsx';
import { VerifiedBadge } from './verified-badge.tsx';

interface Loaded {
  readonly tunnel: Tunnel;
  readonly ingressDomain: IngressDomain;
  /** The apex to verify; undefined if it is verified or the name is generated. */
  readonly domain: Domain | undefined;
}

/** The tunnel is there without the domain. */
class DomainRemoved extends ApiError {}

export function loader({ params, request }: LoaderFunctionArgs) {
  void answers.askAhead(askDomainChecks(params.projectID!, params.tunnel!, params.name!), request.signal);
  return { loaded: later(load(params.projectID!, params.tunnel!, params.name!, request.signal)) };
}

async function load(project: string, tunnelName: string, name: string, signal: AbortSignal): Promise<Loaded> {
  const tunnel = await getTunnel(project, tunnelName, signal);
  const ingressDomain = tunnel.ingressDomains.find((domain) => domain.name === name);
  if (!ingressDomain) throw new DomainRemoved(404, `Tunnel '${tunnelName}' has no ingress domain '${name}'.`);
  const needsProof = !ingressDomain.verified && ingressDomain.apexName !== '';
  return {
    tunnel,
    ingressDomain,
    domain: needsProof
      ? await callApi(domainCalls.getDomain, { project, apexName: ingressDomain.apexName }, { signal })
      : undefined,
  };
}

export function Component() {
  const { loaded } = useLoaderData<typeof loader>();
  const { name = '', tunnel = '' } = useParams();
  const { id } = useProject();
  const back = useBack(paths.tunnel(id, tunnel));
  const header = <PageHeader title={name} back={back} />;
  const findGone = (error: unknown) =>
    error instanceof DomainRemoved
      ? { name, list: paths.tunnel(id, tunnel), listLabel: `Tunnel ${tunnel}` }
      : { name: tunnel, list: paths.tunnels(id), listLabel: 'Tunnels' };
  return (
    <Load promise={loaded} fallbackHeader={header} failedHeader={header} thing={findGone}>
      {(data) => <TunnelDomainView loaded={data} back={back} />}
    </Load>
  );
}

function TunnelDomainView({
  loaded: { tunnel, ingressDomain, domain },
  back,
}: {
  readonly loaded: Loaded;
  readonly back: string;
}) {
  return (
    <>
      <PageHeader
        title={ingressDomain.name}
        back={back}
        badges={<VerifiedBadge verified={ingressDomain.verified} />}
        subtitle={`Ingress domain of tunnel ${tunnel.name}`}
      />
      <div className="grid max-w-3xl gap-5">
        {domain && <VerificationCard domain={domain} />}
        {ingressDomain.apexName !== '' && <DomainCards tunnel={tunnel} domain={ingressDomain} />}
      </div>
    </>
  );
}

interface CardsProps {
  readonly tunnel: Tunnel;
  readonly domain: IngressDomain;
}

function DomainCards({ tunnel, domain }: CardsProps) {
  const checks = useDomainChecks(useProject().id, tunnel, domain);
  return (
    <>
      <DnsCard tunnel={tunnel} domain={domain} checks={checks} />
      {tunnelTypes[tunnel.type].edgeEndsTls && <CertificateCard tunnel={tunnel} domain={domain} onChange={checks.reload} />}
    </>
  );
}

function DnsCard({ tunnel, domain, checks }: CardsProps & { readonly checks: DomainChecks }) {
  const { revalidate } = useRevalidator();
  const refresh = () => {
    checks.reload();
    revalidate();
  };
  const record = ingressRecord(domain, { host: tunnel.dataPlaneHost, ips: checks.answer?.dataPlaneIps ?? [] });
  const { badge, detail, isFine } = checks.stateOf(domain);
  return (
    <Card
      title="DNS configuration"
      description="This record points visitors to the tunnel's region."
      actions={
        <>
          <DnsBadge badge={badge} />
          <Button size="sm" icon={<RefreshCw aria-hidden="true" />} busy={checks.busy} onClick={refresh}>
            Refresh
          </Button>
        </>
      }
    >
      <div className="grid gap-4">
        {detail && <p className="text-sm wrap-anywhere text-ink-soft">{detail}</p>}
        {checks.failure !== undefined && checks.answer && (
          <p className="text-sm text-ink-soft">The last check failed, and this is the answer before it: {checks.failure}</p>
        )}
        {record ? (
          <DnsRecordView record={record} zone={domain.apexName} dataPlaneHost={tunnel.dataPlaneHost} checksAgain={!isFine} />
        ) : (
          <p className="min-h-52 text-ink-soft">
            {checks.busy
              ? "Looking up the region's addresses."
              : "The region's addresses could not be found. Refresh to try again."}
          </p>
        )}
      </div>
    </Card>
  );
}

function DnsBadge({ badge }: { readonly badge: DomainBadge }) {
  return (
    <span role="status">
      {badge === 'loading' && <Ring />}
      {badge === 'dns_ok' && (
        <Badge tone="ok" dot="filled">
          DNS verified
        </Badge>
      )}
      {badge === 'no_dns' && (
        <Badge tone="danger" dot="ring">
          DNS not configured
        </Badge>
      )}
      {badge === 'blocked' && (
        <Badge tone="danger" dot="ring">
          {domainBadgeLabels.blocked}
        </Badge>
      )}
      {badge === 'unknown' && <Badge dot="ring">{domainBadgeLabels.unknown}</Badge>}
    </span>
  );
}
