// A short list of actions behind a button. Its frame and entries load once the page has shown, or when the first menu opens.
import { cloneElement, type ReactNode, useId, useLayoutEffect, useState, useSyncExternalStore } from 'react';
import { loadCode } from '../../code-loading/load-code.ts';
import { loadLater } from '../../code-loading/load-later.ts';
import type { MenuChoiceProps, MenuItemProps, MenuLinkProps, MenuProps } from './menu-frame.tsx';
import { toast } from './toast.tsx';

type Frames = typeof import('./menu-frame.tsx');

let frames: Frames | undefined;
const listeners = new Set<() => void>();

async function load(): Promise<void> {
  frames ??= await import('./menu-frame.tsx');
  for (const listener of listeners) listener();
}

loadLater(load);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const useFrames = (): Frames | undefined => useSyncExternalStore(subscribe, () => frames);

export function Menu(menu: MenuProps) {
  const id = useId();
  const loaded = useFrames();
  const [isAsked, setAsked] = useState(false);
  if (loaded) return <loaded.MenuFrame {...menu} id={id} opensAtOnce={isAsked} />;
  const ask = () => {
    setAsked(true);
    loadCode(load).catch(() => {
      setAsked(false);
      toast.failed('The menu could not be loaded.');
    });
  };
  return <EarlyTrigger id={id} trigger={menu.trigger} isAsked={isAsked} onAsk={ask} />;
}

interface EarlyTriggerProps extends Pick<MenuProps, 'trigger'> {
  readonly id: string;
  readonly isAsked: boolean;
  readonly onAsk: () => void;
}

/** The trigger until the code has come. The trigger of the frame, which takes its place, gets its focus. */
function EarlyTrigger({ id, trigger, isAsked, onAsk }: EarlyTriggerProps) {
  useLayoutEffect(
    () => () => {
      if (document.activeElement?.id === id) queueMicrotask(() => document.getElementById(id)?.focus());
    },
    [id],
  );
  return cloneElement(trigger, { id, 'aria-haspopup': 'menu', 'aria-expanded': isAsked, onClick: onAsk });
}

/** The entries are only in an open menu, so the frames are there. */
export const MenuItem = (props: MenuItemProps) => frames && <frames.MenuItem {...props} />;

/** Opens another site in a new tab. */
export const MenuLink = (props: MenuLinkProps) => frames && <frames.MenuLink {...props} />;

export const MenuSeparator = () => frames && <frames.MenuSeparator />;

/** Content without an action: a name, an address. */
export function MenuNote({ children }: { readonly children: ReactNode }) {
  return <div className="px-2.5 py-2 text-sm text-ink-soft">{children}</div>;
}

/** A choice of one option. */
export const MenuChoice = <Value extends string>(props: MenuChoiceProps<Value>) => frames && <frames.MenuChoice {...props} />;
