// The dark bar: the logo, the tunnel's address, the connection to the client, the theme.
import type { InspectState } from '@underpass/rules/inspect/exchange.ts';
import clsx from 'clsx';
import { useState } from 'react';
import { CopyButton } from '../ui/copy-button.tsx';
import { Select } from '../ui/input/select.tsx';
import { Logo } from '../ui/logo.tsx';
import { keepTheme, readTheme, type Theme } from '../ui/theme.ts';
import { countOf } from './core/format.ts';
import type { Connection } from './state/use-inspector.ts';

interface TopBarProps {
  readonly state: InspectState | undefined;
  readonly connection: Connection;
  readonly isPaused: boolean;
}

export function TopBar({ state, connection, isPaused }: TopBarProps) {
  return (
    <header className="bg-bar text-ink scheme-dark">
      <div className="flex h-14 items-center gap-3 px-3 sm:px-5">
        <span className="flex max-sm:[&>span>span]:hidden">
          <Logo />
        </span>
        <h1 className="sr-only">Inspector</h1>
        <span aria-hidden="true" className="h-5 w-px rotate-12 bg-edge max-sm:hidden" />
        <Addresses state={state} />
        <div className="ml-auto flex shrink-0 items-center gap-3">
          <ConnectionState connection={connection} isPaused={isPaused} />
          <ThemeSelect />
        </div>
      </div>
    </header>
  );
}

function Addresses({ state }: Pick<TopBarProps, 'state'>) {
  const urls = state?.tunnels.flatMap((tunnel) => tunnel.urls) ?? [];
  const [first, ...more] = urls;
  if (first === undefined) return null;
  return (
    <div className="flex min-w-0 items-center gap-1">
      <a
        href={first}
        target="_blank"
        rel="noreferrer"
        className="min-w-0 truncate rounded-sm text-base font-semibold hover:underline"
      >
        {first.replace(/^https:\/\//, '')}
      </a>
      <CopyButton text={first} what="the address" />
      {more.length > 0 && (
        <span className="shrink-0 text-sm text-ink-soft max-md:hidden" title={more.join('\n')}>
          and {countOf(more.length, 'more', 'more')}
        </span>
      )}
    </div>
  );
}

function ConnectionState({ connection, isPaused }: Pick<TopBarProps, 'connection' | 'isPaused'>) {
  const { text, tone } = connectionText(connection, isPaused);
  return (
    <span role="status" className="flex items-center gap-2 text-sm font-semibold">
      <span aria-hidden="true" className={clsx('size-2 rounded-full', tone)} />
      {text}
    </span>
  );
}

function connectionText({ kind }: Connection, isPaused: boolean): { readonly text: string; readonly tone: string } {
  if (kind === 'opening') return { text: 'Connecting', tone: 'border-[1.5px] border-current' };
  if (kind !== 'live') return { text: 'Not connected', tone: 'bg-danger' };
  return isPaused ? { text: 'Paused', tone: 'bg-warn' } : { text: 'Live', tone: 'bg-ok' };
}

const themes: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

function ThemeSelect() {
  const [theme, setTheme] = useState(readTheme);
  const choose = (next: Theme) => {
    keepTheme(next);
    setTheme(next);
  };
  return <Select label="Theme" size="sm" value={theme} options={themes} onChange={choose} className="w-26 max-sm:hidden" />;
}
