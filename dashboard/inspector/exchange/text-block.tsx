// A long text in a scrolling box. It starts with its beginning, because a browser needs long to lay out a megabyte.

import { formatSize } from '@underpass/rules/text/size.ts';
import { useState } from 'react';
import { Button } from '../../ui/button.tsx';

const firstCharacters = 50_000;

interface TextBlockProps {
  readonly text: string;
  /** Names it for screen readers. */
  readonly label: string;
  /** Columns that must not wrap. */
  readonly isTable?: boolean;
}

export function TextBlock({ text, label, isTable = false }: TextBlockProps) {
  const [isWhole, setWhole] = useState(false);
  const rest = text.length - firstCharacters;
  const shown = rest > 0 && !isWhole ? text.slice(0, firstCharacters) : text;
  return (
    <div className="grid grid-cols-1 gap-2">
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a scrolling area (WCAG 2.1.1).
        tabIndex={0}
        aria-label={label}
        className="max-h-[32rem] overflow-auto rounded-md border bg-sunken"
      >
        <pre className={`p-3 font-mono text-sm ${isTable ? 'w-max' : 'wrap-anywhere whitespace-pre-wrap'}`}>{shown}</pre>
      </section>
      {rest > 0 && !isWhole && (
        <Button size="sm" className="justify-self-start" onClick={() => setWhole(true)}>
          Show the other {formatSize(rest)}
        </Button>
      )}
    </div>
  );
}
