// Opens the command palette, by click or by ⌘K / Ctrl-K. The palette itself is fetched then.
import { Search } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import type { ShellData } from '../session.ts';

const CommandPalette = lazy(() => import('./command-palette.tsx').then((module) => ({ default: module.CommandPalette })));

const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.platform);

export function PaletteButton(shell: ShellData) {
  const [open, setOpen] = useState(false);
  const [wanted, setWanted] = useState(false);
  const onOpenChange = (opens: boolean) => {
    setOpen(opens);
    if (opens) setWanted(true);
  };
  useShortcut(() => onOpenChange(true));
  return (
    <>
      <button
        type="button"
        onClick={() => onOpenChange(true)}
        className="flex h-9 items-center gap-2 rounded-md border border-line px-2.5 text-sm text-ink-soft hover:bg-hover hover:text-ink max-sm:w-10 max-sm:justify-center max-sm:border-transparent"
      >
        <Search aria-hidden="true" className="size-4 shrink-0" />
        <span className="max-sm:sr-only">Search</span>
        <span aria-hidden="true" className="ml-4 text-xs text-ink-faint max-md:hidden">
          {IS_APPLE ? '⌘K' : 'Ctrl K'}
        </span>
      </button>
      {wanted && (
        <Suspense>
          <CommandPalette {...shell} open={open} onOpenChange={onOpenChange} />
        </Suspense>
      )}
    </>
  );
}

function useShortcut(onPressed: () => void): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      onPressed();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  });
}
