// The ingress domains of the tunnel (spec 2, Domains list on the tunnel). Of many, those that need work come first, and the rest
// is folded.

import type { IngressDomain, Tunnel } from '@underpass/rules/entity/entity.ts';
import { isWildcardName } from '@underpass/rules/names/hostname.ts';
import { type DomainBadge, domainBadgeLabels, showsConfigureDns } from '@underpass/rules/screen/domain-badge.ts';
import { type DomainState, failingFirst } from '@underpass/rules/screen/domain-state.ts';
import { text } from '@underpass/rules/text/text.ts';
import { ArrowUpRight } from 'lucide-react';
import { useState } from 'react';
import { useLocation } from 'react-router';
import { QrDialog } from '../../api/qr-dialog.tsx';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { ButtonLink } from '../../ui/button-link.tsx';
import { Card } from '../../ui/card.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Input } from '../../ui/input/input.tsx';
import type { DomainChecks } from './domain-checks.ts';
import { DomainMenu } from './domain-menu.tsx';

const tones: Record<DomainBadge, Tone> = {
  loading: 'neutral',
  blocked: 'danger',
  unverified: 'warn',
  no_dns: 'danger',
  unknown: 'neutral',
  dns_ok: 'ok',
};

/** More are folded. */
const shownRows = 8;

interface IngressDomainsProps {
  readonly tunnel: Tunnel;
  readonly checks: DomainChecks;
}

export function IngressDomains({ tunnel, checks }: IngressDomainsProps) {
  const { ingressDomains } = tunnel;
  return (
    <Card title="Domains" flush>
      <CheckFailure checks={checks} />
      {ingressDomains.length === 0 ? (
        <p className="border-t px-4 py-6 text-center text-ink-soft sm:px-5">{text.tunnels.noIngressDomains}</p>
      ) : (
        <DomainList tunnel={tunnel} checks={checks} />
      )}
    </Card>
  );
}

/** The whole check failed. The badges say the same of each domain, or still show an older answer. */
function CheckFailure({ checks: { failure, answer, busy, reload } }: Pick<IngressDomainsProps, 'checks'>) {
  if (failure === undefined) return null;
  const retry = (
    <Button size="sm" busy={busy} onClick={reload}>
      {text.error.retry}
    </Button>
  );
  return (
    <Banner tone="warn" title="The domains could not be checked." action={retry} className="mx-4 mb-4 sm:mx-5">
      {failure}
      {answer && ' The list shows the last answer.'}
    </Banner>
  );
}

function DomainList({ tunnel, checks }: IngressDomainsProps) {
  const [query, setQuery] = useState('');
  const [unfolded, setUnfolded] = useState(false);
  const [qrAddress, setQrAddress] = useState<string>();
  const all = tunnel.ingressDomains.map((domain) => ({ domain, state: checks.stateOf(domain) }));
  const isLong = all.length > shownRows;
  const sorted = isLong ? failingFirst(all) : all;
  const wanted = query.trim().toLowerCase();
  const found = sorted.filter(({ domain }) => domain.name.includes(wanted));
  const rows = unfolded || wanted !== '' ? found : found.slice(0, shownRows);
  return (
    <>
      {isLong && <Search query={query} onChange={setQuery} found={found.length} all={all.length} />}
      <ul aria-label="Ingress domains" className="divide-y border-t">
        {rows.map(({ domain, state }) => (
          <DomainRow
            key={domain.name}
            tunnel={tunnel.name}
            domain={domain}
            state={state}
            isOpen={checks.answer === undefined && checks.failure === undefined}
            onQrCode={setQrAddress}
          />
        ))}
      </ul>
      {isLong && wanted === '' && (
        <div className="border-t px-4 py-2 sm:px-5">
          <Button size="sm" variant="quiet" aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>
            {unfolded ? 'Show fewer' : `Show all ${all.length} domains`}
          </Button>
        </div>
      )}
      <QrDialog address={qrAddress} onClose={() => setQrAddress(undefined)} />
    </>
  );
}

interface SearchProps {
  readonly query: string;
  readonly onChange: (query: string) => void;
  readonly found: number;
  readonly all: number;
}

function Search({ query, onChange, found, all }: SearchProps) {
  return (
    <div className="flex flex-wrap items-center gap-3 px-4 pb-4 sm:px-5">
      <Input
        type="search"
        aria-label="Search domains"
        placeholder="Search domains"
        className="max-w-80"
        value={query}
        onChange={(event) => onChange(event.target.value)}
      />
      <p role="status" className="text-sm text-ink-soft">
        {query.trim() !== '' && `${found} of ${all} domains`}
      </p>
    </div>
  );
}

interface DomainRowProps {
  readonly tunnel: string;
  readonly domain: IngressDomain;
  readonly state: DomainState;
  /** The first check still runs. */
  readonly isOpen: boolean;
  readonly onQrCode: (address: string) => void;
}

function DomainRow({ tunnel, domain, state: { badge, detail }, isOpen, onQrCode }: DomainRowProps) {
  const project = useProject();
  const { pathname } = useLocation();
  const label = domainBadgeLabels[badge];
  return (
    <li className="flex min-h-13 items-start gap-1 px-4 py-2 sm:px-5">
      <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3 gap-y-1">
        <span className="flex min-w-0 items-center gap-1">
          <DomainName domain={domain} />
        </span>
        {label && (
          <Badge tone={tones[badge]} dot="ring">
            {label}
          </Badge>
        )}
        {showsConfigureDns(domain) && (
          <ButtonLink
            size="sm"
            className="ml-auto"
            to={paths.tunnelDomain(project.id, tunnel, domain.name)}
            state={{ back: pathname }}
            aria-label={`Configure DNS of ${domain.name}`}
          >
            Configure DNS
          </ButtonLink>
        )}
        {/* Keeps the line free until the answer fills it, so that it pushes nothing down. */}
        {(detail || isOpen) && <p className="min-h-5 w-full text-sm wrap-anywhere text-ink-soft">{detail}</p>}
      </div>
      {!isWildcardName(domain.name) && <DomainMenu domain={domain} onQrCode={onQrCode} />}
    </li>
  );
}

/** A wildcard has no address of its own. */
function DomainName({ domain: { name, url } }: Pick<DomainRowProps, 'domain'>) {
  if (isWildcardName(name)) return <span className="font-semibold wrap-anywhere">{name}</span>;
  return (
    <>
      <a
        href={url}
        target="_blank"
        rel="noreferrer"
        className="inline-flex min-w-0 items-center gap-1 font-semibold wrap-anywhere underline decoration-line underline-offset-4 hover:decoration-current"
      >
        {name}
        <ArrowUpRight aria-hidden="true" className="size-4 shrink-0 text-ink-faint" />
      </a>
      <CopyButton text={url} what={`address of ${name}`} />
    </>
  );
}
