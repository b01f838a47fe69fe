// Opens the command palette, by click or by ⌘K / Ctrl-K. The palette loads then; keys typed before it is ready go into its input.
import { Search } from 'lucide-react';
import { type ComponentType, useEffectEvent, useLayoutEffect, useState } from 'react';
import { createPortal } from 'react-dom';
import { loadCode } from '../code-loading/load-code.ts';
import type { ShellData } from '../session/session.ts';
import { toast } from '../ui/overlay/toast.tsx';
import { Ring } from '../ui/spinner.tsx';
import type { CommandPaletteProps } from './command-palette.tsx';

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

export function PaletteButton(shell: ShellData) {
  const { View, open, onOpenChange, query, setQuery, setReady } = usePalette();
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
          {isApple ? '⌘K' : 'Ctrl K'}
        </span>
      </button>
      {View && (
        <View
          {...shell}
          open={open}
          onOpenChange={onOpenChange}
          query={query}
          onQueryChange={setQuery}
          onReady={() => setReady(true)}
        />
      )}
      {open && !View && <LoadingPalette query={query} onCancel={() => onOpenChange(false)} />}
    </>
  );
}

function usePalette() {
  const [loaded, setLoaded] = useState<{ readonly View: ComponentType<CommandPaletteProps> }>();
  const [open, setOpen] = useState(false);
  const [query, setQuery] = useState('');
  const [ready, setReady] = useState(false);
  const load = () =>
    loadCode(() => import('./command-palette.tsx')).then(
      ({ CommandPalette }) => setLoaded({ View: CommandPalette }),
      () => {
        setOpen(false);
        toast.failed('The command palette could not be loaded.');
      },
    );
  const onOpenChange = (opens: boolean) => {
    if (opens === open) return;
    setOpen(opens);
    setReady(false);
    if (opens) setQuery('');
    if (opens && !loaded) void load();
  };
  useShortcut(() => onOpenChange(true));
  useTypedAhead(open && !ready, setQuery, () => onOpenChange(false));
  return { View: loaded?.View, open, onOpenChange, query, setQuery, setReady };
}

function useShortcut(press: () => void): void {
  const onPressed = useEffectEvent(press);
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      onPressed();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}

/** Collects the typed keys until the palette's input has the focus, and keeps them from the page. */
function useTypedAhead(waits: boolean, change: (edit: (query: string) => string) => void, cancel: () => void): void {
  const onChange = useEffectEvent(change);
  const onCancel = useEffectEvent(cancel);
  useLayoutEffect(() => {
    if (!waits) return;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === 'Escape') onCancel();
      else if (event.key === 'Backspace') onChange((query) => query.slice(0, -1));
      else if (event.key.length === 1) onChange((query) => query + event.key);
    };
    addEventListener('keydown', onKeyDown, { capture: true });
    return () => removeEventListener('keydown', onKeyDown, { capture: true });
  }, [waits]);
}

/** Takes the palette's place while it loads, and looks like its input. */
function LoadingPalette({ query, onCancel }: { readonly query: string; readonly onCancel: () => void }) {
  return createPortal(
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: a click outside closes it, as Escape does.
    <div className="fixed inset-0 z-50 flex items-start justify-center bg-veil px-3 pt-[12vh]" onClick={onCancel}>
      <p
        role="status"
        className="flex h-13.5 w-full max-w-xl items-center gap-3 rounded-lg border bg-raised px-4 text-lg text-ink shadow-overlay"
      >
        <Ring />
        <span className="sr-only">Loading the command palette</span>
        <span aria-hidden="true">{query}</span>
      </p>
    </div>,
    document.body,
  );
}
