// Tabs with panels.
import { Tabs as Base } from '@base-ui/react/tabs';
import clsx from 'clsx';
import { type ReactNode, useRef } from 'react';
import { stripClass, useFades } from './tab-strip.ts';

interface TabsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly tabs: readonly { readonly value: Value; readonly label: string }[];
  /** The panel of the selected tab. */
  readonly children: ReactNode;
  readonly className?: string;
}

export function Tabs<Value extends string>({ label, value, onChange, tabs, children, className }: TabsProps<Value>) {
  const strip = useRef<HTMLDivElement>(null);
  const fades = useFades(strip);
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(next as Value)} className={className}>
      <Base.List ref={strip} {...fades} aria-label={label} className={clsx('flex gap-1 border-b', stripClass)}>
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className={clsx(
              '-mb-px h-10 shrink-0 border-b-2 border-transparent px-3 text-base font-semibold whitespace-nowrap text-ink-soft hover:text-ink',
              'data-active:border-accent-ink data-active:text-ink focus-visible:-outline-offset-2',
            )}
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      <Base.Panel value={value} className="pt-4 outline-offset-4">
        {children}
      </Base.Panel>
    </Base.Root>
  );
}
