// Names and values. A hidden value shows dots until the person reveals it.
import type { ShownHeader } from '@underpass/rules/inspect/exchange.ts';
import { Eye, EyeOff } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';

interface HeadersProps {
  readonly headers: readonly ShownHeader[];
  readonly isRevealed: boolean;
  readonly onReveal: (reveal: boolean) => void;
}

export function Headers({ headers, isRevealed, onReveal }: HeadersProps) {
  const hides = headers.some(([, value]) => value === null);
  return (
    <div className="grid gap-3">
      <Rows>
        {headers.map(([name, value], at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a name may come twice, and the order never changes.
          <Row key={at} name={name}>
            {value ?? <Hidden name={name} onReveal={() => onReveal(true)} />}
          </Row>
        ))}
      </Rows>
      {(hides || isRevealed) && (
        <Button
          size="sm"
          className="justify-self-start"
          icon={hides ? <Eye aria-hidden="true" /> : <EyeOff aria-hidden="true" />}
          onClick={() => onReveal(hides)}
        >
          {hides ? 'Reveal secrets' : 'Hide secrets'}
        </Button>
      )}
    </div>
  );
}

function Hidden({ name, onReveal }: { readonly name: string; readonly onReveal: () => void }) {
  return (
    <button
      type="button"
      aria-label={`Reveal ${name}`}
      title={`Reveal ${name}`}
      onClick={onReveal}
      className="rounded-sm px-0.5 hover:bg-hover"
    >
      ••••••••
    </button>
  );
}

interface PairsProps {
  readonly label: string;
  readonly pairs: readonly (readonly [name: string, value: ReactNode])[];
}

export function Pairs({ label, pairs }: PairsProps) {
  return (
    <Rows label={label}>
      {pairs.map(([name, value], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a name may come twice, and the order never changes.
        <Row key={at} name={name}>
          {value}
        </Row>
      ))}
    </Rows>
  );
}

function Rows({ label, children }: { readonly label?: string; readonly children: ReactNode }) {
  return (
    <dl aria-label={label} className="grid font-mono text-sm">
      {children}
    </dl>
  );
}

function Row({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="grid gap-x-4 border-b py-1 last:border-b-0 sm:grid-cols-[minmax(8rem,14rem)_minmax(0,1fr)]">
      <dt className="text-ink-soft wrap-anywhere">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </div>
  );
}
