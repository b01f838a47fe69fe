// One choice out of a long list, found by typing.
import { Combobox as Base } from '@base-ui/react/combobox';
import clsx from 'clsx';
import { Check, ChevronsUpDown } from 'lucide-react';
import type { ReactNode } from 'react';
import { useOverlayContainer } from './overlay-container.tsx';

export interface ComboboxItem {
  readonly value: string;
  readonly label: string;
}

export interface ComboboxProps {
  /** Names the control and its list. */
  readonly label: string;
  readonly items: readonly ComboboxItem[];
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
  readonly emptyText?: string;
  readonly icon?: ReactNode;
  readonly className?: string;
}

export function Combobox({ label, items, value, onChange, emptyText = 'Nothing found.', icon, className }: ComboboxProps) {
  const selected = items.find((item) => item.value === value) ?? null;
  return (
    <Base.Root items={items} value={selected} onValueChange={(item: ComboboxItem | null) => item && onChange(item.value)}>
      <Base.Trigger
        aria-label={selected ? `${label}: ${selected.label}` : label}
        className={clsx(
          'flex h-9 min-w-0 items-center gap-2 rounded-md border border-transparent px-2.5 text-left text-sm font-semibold text-ink hover:bg-hover data-popup-open:bg-hover',
          className,
        )}
      >
        {icon}
        <span className="truncate">{selected?.label ?? label}</span>
        <ChevronsUpDown aria-hidden="true" className="ml-auto size-3.5 shrink-0 text-ink-faint" />
      </Base.Trigger>
      <Base.Portal {...useOverlayContainer()}>
        <Base.Positioner align="start" sideOffset={6} className="z-50">
          <Base.Popup
            aria-label={label}
            className="w-72 max-w-[calc(100vw-1.5rem)] rounded-md border bg-raised text-ink shadow-overlay"
          >
            <div className="border-b p-1.5">
              <Base.Input
                placeholder="Find…"
                aria-label={`Find: ${label}`}
                className="h-8 w-full rounded-sm bg-transparent px-2 text-sm outline-none placeholder:text-ink-faint"
              />
            </div>
            <Base.Empty>
              <div className="px-3 py-4 text-sm text-ink-soft">{emptyText}</div>
            </Base.Empty>
            <Base.List className="max-h-72 overflow-y-auto p-1 empty:hidden">
              {(item: ComboboxItem) => (
                <Base.Item
                  key={item.value}
                  value={item}
                  className="flex cursor-default items-center gap-2 rounded-sm px-2 py-1.5 text-sm outline-none select-none data-highlighted:bg-hover"
                >
                  <span className="min-w-0 flex-1 truncate">{item.label}</span>
                  <Base.ItemIndicator>
                    <Check aria-hidden="true" className="size-4 text-accent-ink" />
                  </Base.ItemIndicator>
                </Base.Item>
              )}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
