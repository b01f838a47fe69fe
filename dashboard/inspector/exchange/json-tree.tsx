// JSON as a tree. A branch renders its entries when it is opened, a hundred at a time.
import clsx from 'clsx';
import { ChevronRight } from 'lucide-react';
import { useState } from 'react';
import { countOf } from '../core/format.ts';
import type { Json } from '../core/json.ts';

const step = 100;
/** A branch with more entries starts closed. */
const mostOpen = 12;
/** A longer text shows its beginning. */
const mostCharacters = 2_000;

export function JsonTree({ value, label }: { readonly value: Json; readonly label: string }) {
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a scrolling area (WCAG 2.1.1).
      tabIndex={0}
      aria-label={label}
      className="max-h-[32rem] overflow-auto rounded-md border bg-sunken p-3 font-mono text-sm"
    >
      <Entry name={undefined} value={value} depth={0} />
    </section>
  );
}

interface EntryProps {
  readonly name: string | undefined;
  readonly value: Json;
  readonly depth: number;
}

function Entry({ name, value, depth }: EntryProps) {
  if (typeof value === 'object' && value !== null) return <Branch name={name} value={value} depth={depth} />;
  return (
    <div className="pl-5 wrap-anywhere">
      <Name name={name} />
      <Leaf value={value} />
    </div>
  );
}

function Branch({ name, value, depth }: EntryProps & { readonly value: object }) {
  const isList = Array.isArray(value);
  const entries = Object.entries(value) as [string, Json][];
  const [isOpen, setOpen] = useState(depth === 0 || (depth === 1 && entries.length <= mostOpen));
  const [shown, setShown] = useState(step);
  const brackets = isList ? '[]' : '{}';
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex max-w-full items-baseline gap-1 rounded-sm text-left hover:bg-hover"
      >
        <ChevronRight aria-hidden="true" className={clsx('size-4 shrink-0 self-center text-ink-faint', isOpen && 'rotate-90')} />
        <span className="wrap-anywhere">
          <Name name={name} />
          <span className="text-ink-soft">
            {brackets[0]}
            {isOpen && entries.length > 0 ? '' : brackets[1]}{' '}
            <span className="text-ink-faint">
              {countOf(entries.length, isList ? 'entry' : 'field', isList ? 'entries' : 'fields')}
            </span>
          </span>
        </span>
      </button>
      {isOpen && entries.length > 0 && (
        <>
          <ul className="ml-2 border-l pl-2">
            {entries.slice(0, shown).map(([key, item]) => (
              <li key={key}>
                <Entry name={key} value={item} depth={depth + 1} />
              </li>
            ))}
          </ul>
          {entries.length > shown && (
            <button
              type="button"
              className="ml-5 rounded-sm font-semibold text-accent-ink underline"
              onClick={() => setShown(shown + step)}
            >
              Show {Math.min(step, entries.length - shown)} more
            </button>
          )}
          <div className="pl-5 text-ink-soft">{brackets[1]}</div>
        </>
      )}
    </div>
  );
}

function Name({ name }: { readonly name: string | undefined }) {
  return name === undefined ? null : <span className="text-ink-soft">{name}: </span>;
}

function Leaf({ value }: { readonly value: null | boolean | number | string }) {
  if (typeof value === 'string')
    return (
      <span className="text-ok">
        {JSON.stringify(value.slice(0, mostCharacters))}
        {value.length > mostCharacters && ` … ${countOf(value.length, 'character')}`}
      </span>
    );
  return <span className={typeof value === 'number' ? 'text-info' : 'text-accent-ink'}>{String(value)}</span>;
}
