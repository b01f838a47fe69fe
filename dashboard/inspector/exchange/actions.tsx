// What a person can do with a request.
import type { Exchange } from '@underpass/rules/inspect/exchange.ts';
import { durations } from '@underpass/rules/limits.ts';
import { Check, Download, GitCompareArrows, Pencil, RotateCcw, Terminal } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { saveFile } from '../../api/save-file.ts';
import { useTask } from '../../api/use-task.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button, type ButtonProps } from '../../ui/button.tsx';
import { lazyPart } from '../../ui/lazy-part.tsx';
import { getCurl, getHar, replay } from '../api/calls.ts';
import { goTo } from '../state/route.ts';

const ReplayPanel = lazyPart('The form', () => import('./replay-panel.tsx').then(({ ReplayPanel }) => ReplayPanel));

export interface ActionsProps {
  readonly exchange: Exchange;
  readonly isAway: boolean;
  /** What is copied and exported then has the secrets that the page shows. */
  readonly isRevealed: boolean;
  readonly isComparing: boolean;
}

export function Actions({ exchange, isAway, isRevealed, isComparing }: ActionsProps) {
  const { id, replayOf } = exchange;
  // A conversation cannot be sent again.
  const isSocket = exchange.kind === 'websocket';
  const [isEditing, setEditing] = useState(false);
  const replaying = useTask(async () => goTo({ id: (await replay(id, {})).id }));
  const exporting = useTask(async () => saveFile(await getHar([id], isRevealed), `underpass-${id}.har`));
  const failed = [replaying, exporting].find(({ error }) => error !== undefined);
  return (
    <>
      <Button
        variant="primary"
        size="sm"
        icon={<RotateCcw aria-hidden="true" />}
        disabled={isAway || isSocket}
        busy={replaying.busy}
        onClick={replaying.run}
      >
        Replay
      </Button>
      <Action
        label="Edit and replay"
        icon={<Pencil aria-hidden="true" />}
        disabled={isAway || isSocket}
        onClick={() => setEditing(true)}
      />
      <Action
        label={isComparing ? 'Close the comparison' : replayOf === null ? 'Compare' : `Compare with #${replayOf}`}
        icon={<GitCompareArrows aria-hidden="true" />}
        aria-pressed={isComparing}
        disabled={isAway}
        onClick={() => goTo(isComparing ? { id } : { id, compareWith: replayOf })}
      />
      <CopyCurl id={id} isAway={isAway} isRevealed={isRevealed} />
      <Action
        label="Export as HAR"
        icon={<Download aria-hidden="true" />}
        disabled={isAway}
        busy={exporting.busy}
        onClick={exporting.run}
      />
      {failed && (
        <Banner tone="danger" onDismiss={failed.dismiss} className="w-full">
          {(failed.error as Error).message}
        </Banner>
      )}
      {isEditing && <ReplayPanel exchange={exchange} onClose={() => setEditing(false)} />}
    </>
  );
}

/** A button that shows only its icon where the pane is narrow. */
function Action({
  label,
  ...rest
}: Omit<ButtonProps, 'children' | 'size'> & { readonly label: string; readonly icon: ReactNode }) {
  return (
    <Button {...rest} size="sm" title={label}>
      <span className="max-md:sr-only">{label}</span>
    </Button>
  );
}

function CopyCurl({ id, isAway, isRevealed }: { readonly id: number; readonly isAway: boolean; readonly isRevealed: boolean }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), durations.copyConfirmationMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copying = useTask(async () => {
    // The promise goes to the clipboard at once: Safari forbids to write after a wait.
    const text = getCurl(id, isRevealed).then((command) => new Blob([command], { type: 'text/plain' }));
    await navigator.clipboard.write([new ClipboardItem({ 'text/plain': text })]);
    setCopied(true);
  });
  return (
    <>
      <Action
        label={copying.error === undefined ? 'Copy as cURL' : (copying.error as Error).message}
        icon={isCopied ? <Check aria-hidden="true" className="text-ok" /> : <Terminal aria-hidden="true" />}
        disabled={isAway}
        onClick={copying.run}
      />
      <span role="status" className="sr-only">
        {isCopied ? 'Copied' : ''}
      </span>
    </>
  );
}
