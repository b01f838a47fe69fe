// The card of the connect section. What is in it (connect.tsx) loads when it shows, and the rest of the page does not wait for it.
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { useState } from 'react';
import { loadLater } from '../../code-loading/load-later.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { lazyPart } from '../../ui/lazy-part.tsx';

/** Tabs and snippets are half of the page's code. */
const loadConnect = () => import('./connect.tsx').then((module) => module.Connect);
loadLater(loadConnect);
/** The placeholder is about as tall as the command for one domain: what follows on the page hardly moves. */
const Connect = lazyPart('How to connect', loadConnect, <div className="h-154 md:h-105 lg:h-100" />);

interface ConnectCardProps {
  readonly tunnel: Tunnel;
  /** A tunnel in use needs it less than what the page shows otherwise. */
  readonly startsFolded: boolean;
}

export function ConnectCard({ tunnel, startsFolded }: ConnectCardProps) {
  const [isFolded, setFolded] = useState(startsFolded);
  const [hasShown, setHasShown] = useState(!startsFolded);
  const fold = (
    <Button
      size="sm"
      aria-expanded={!isFolded}
      onClick={() => {
        setFolded(!isFolded);
        setHasShown(true);
      }}
    >
      {isFolded ? 'Show' : 'Hide'}
    </Button>
  );
  return (
    <Card
      title="Connect"
      description="Run a client next to your application. It connects outward, so you don't need to open a port."
      actions={startsFolded && fold}
      className="[&>:has(>[hidden])]:pt-0"
    >
      {hasShown && (
        <div hidden={isFolded}>
          <Connect tunnel={tunnel} />
        </div>
      )}
    </Card>
  );
}
