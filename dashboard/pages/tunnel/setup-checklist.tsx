// The steps until visitors can reach the tunnel; hidden once all are done (spec 4, Setup checklist).
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { type ChecklistItem, isSetupComplete, renderChecklist } from '@underpass/rules/screen/setup-checklist.ts';
import { tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { CircleCheck, CircleDashed } from 'lucide-react';
import { Card } from '../../ui/card.tsx';
import type { DomainChecks } from './domain-checks.ts';

interface SetupChecklistProps {
  readonly tunnel: Tunnel;
  readonly checks: Pick<DomainChecks, 'stateOf'>;
}

const domainsOf = ({ tunnel, checks }: SetupChecklistProps) =>
  tunnel.ingressDomains.map((domain) => ({ verified: domain.verified, badge: checks.stateOf(domain).badge }));

/** A tunnel that is found by its port has no step about domains. */
function itemsOf(props: SetupChecklistProps): readonly ChecklistItem[] {
  const { type, connectedClients = 0 } = props.tunnel;
  const items = renderChecklist(domainsOf(props), connectedClients);
  return tunnelTypes[type].foundBy === 'name' ? items : items.filter(({ id }) => id === 'connected');
}

/** Everything else is done, so the DNS checks that still run decide whether the checklist shows. */
export const waitsForDns = (props: SetupChecklistProps): boolean =>
  domainsOf(props).some(({ badge }) => badge === 'loading') && isSetupComplete(itemsOf(props));

export function SetupChecklist(props: SetupChecklistProps) {
  const items = itemsOf(props);
  if (isSetupComplete(items)) return null;
  return (
    <Card title="Setup">
      <ul className="grid gap-3 md:grid-cols-3">
        {items.map((item) => (
          <Item key={item.id} item={item} />
        ))}
      </ul>
    </Card>
  );
}

function stateWord({ done, unknown }: ChecklistItem): string {
  if (done) return ' (done)';
  return unknown === undefined ? ' (to do)' : ' (not known)';
}

function Item({ item }: { readonly item: ChecklistItem }) {
  const Icon = item.done ? CircleCheck : CircleDashed;
  return (
    <li className="flex items-start gap-3">
      <Icon aria-hidden="true" className={item.done ? 'mt-0.5 size-5 shrink-0 text-ok' : 'mt-0.5 size-5 shrink-0 text-info'} />
      <div>
        <p className="font-semibold">
          {item.title}
          <span className="sr-only">{stateWord(item)}</span>
        </p>
        <p className="text-sm text-ink-soft">{item.text}</p>
      </div>
    </li>
  );
}
