// The frame and the entries of a menu (menu.tsx).
import { Menu as Base } from '@base-ui/react/menu';
import clsx from 'clsx';
import type { ReactElement, ReactNode } from 'react';
import { useOverlayContainer } from './overlay-container.tsx';

export interface MenuProps {
  /** The button that opens it. It needs an accessible name. */
  readonly trigger: ReactElement<React.ComponentProps<'button'>>;
  readonly align?: 'start' | 'end';
  readonly children: ReactNode;
}

interface MenuFrameProps extends MenuProps {
  /** The id of the trigger. */
  readonly id: string;
  readonly opensAtOnce: boolean;
}

export function MenuFrame({ id, trigger, align = 'end', opensAtOnce, children }: MenuFrameProps) {
  return (
    <Base.Root defaultOpen={opensAtOnce}>
      <Base.Trigger id={id} render={trigger} />
      <Base.Portal {...useOverlayContainer()}>
        <Base.Positioner positionMethod="fixed" align={align} sideOffset={6} className="z-50 outline-none">
          <Base.Popup className="max-h-(--available-height) min-w-48 max-w-80 overflow-y-auto rounded-md border bg-raised p-1 text-ink shadow-overlay outline-none">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

const item =
  'flex cursor-default items-center gap-2.5 rounded-sm px-2.5 py-1.5 text-base outline-none select-none data-highlighted:bg-hover ' +
  'data-disabled:opacity-55 [&_svg]:size-4 [&_svg]:shrink-0';

export interface MenuItemProps {
  readonly icon?: ReactNode;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

export function MenuItem({ icon, danger = false, disabled = false, onClick, children }: MenuItemProps) {
  return (
    <Base.Item
      disabled={disabled}
      onClick={onClick}
      className={clsx(item, danger && 'text-danger data-highlighted:bg-danger-soft')}
    >
      {icon}
      {children}
    </Base.Item>
  );
}

export interface MenuLinkProps {
  readonly icon: ReactNode;
  readonly href: string;
  readonly children: ReactNode;
}

export function MenuLink({ icon, href, children }: MenuLinkProps) {
  return (
    <Base.LinkItem href={href} target="_blank" rel="noreferrer" closeOnClick className={item}>
      {icon}
      {children}
    </Base.LinkItem>
  );
}

export function MenuSeparator() {
  return <Base.Separator className="my-1 h-px bg-line" />;
}

interface MenuOption<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** A second line. */
  readonly note?: string | undefined;
  readonly icon?: ReactNode;
}

export interface MenuChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly MenuOption<Value>[];
  readonly onChange: (value: Value) => void;
}

export function MenuChoice<Value extends string>({ label, value, options, onChange }: MenuChoiceProps<Value>) {
  return (
    <Base.RadioGroup value={value} onValueChange={(next) => onChange(next as Value)}>
      <Base.GroupLabel className="px-2.5 pt-2 pb-1 text-sm font-semibold text-ink-soft">{label}</Base.GroupLabel>
      {options.map((option) => (
        <Base.RadioItem key={option.value} value={option.value} className={clsx(item, 'data-checked:font-semibold')}>
          {option.icon}
          <span className="min-w-0 flex-1">
            <span dir="auto" className="block truncate text-left">
              {option.label}
            </span>
            {option.note && <span className="block text-sm font-normal wrap-anywhere text-ink-soft">{option.note}</span>}
          </span>
          <Base.RadioItemIndicator>
            <span aria-hidden="true" className="block size-1.5 rounded-full bg-accent-ink" />
          </Base.RadioItemIndicator>
        </Base.RadioItem>
      ))}
    </Base.RadioGroup>
  );
}
