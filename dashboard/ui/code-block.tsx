// Code on a dark ground in both themes. Plain at once; coloured when the highlighter has arrived (shiki, loaded on demand).
// Tokens are React spans with classless colours set through the CSSOM, so the strict CSP stands.
import { useEffect, useState } from 'react';
import type { HighlightedLine, Language } from './highlight.ts';

export interface CodeBlockProps {
  readonly code: string;
  readonly language: Language;
  /** Names the block for screen readers. */
  readonly label: string;
}

export function CodeBlock({ code, language, label }: CodeBlockProps) {
  const lines = useHighlight(code, language);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls has to be reachable by keyboard (WCAG 2.1.1).
    <section tabIndex={0} aria-label={label} className="overflow-x-auto rounded-md bg-bar scheme-dark">
      <pre className="w-max p-4 font-mono text-sm text-ink">
        <code>{lines ? lines.map(renderLine) : code}</code>
      </pre>
    </section>
  );
}

function renderLine(line: HighlightedLine, index: number) {
  return (
    // biome-ignore lint/suspicious/noArrayIndexKey: a line has no identity but its place.
    <span key={index}>
      {line.map((token, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same for a token.
        <span key={at} style={{ color: token.color }}>
          {token.text}
        </span>
      ))}
      {'\n'}
    </span>
  );
}

function useHighlight(code: string, language: Language): readonly HighlightedLine[] | undefined {
  const [result, setResult] = useState<{ code: string; lines: readonly HighlightedLine[] }>();
  useEffect(() => {
    let stale = false;
    import('./highlight.ts')
      .then(({ highlight }) => highlight(code, language))
      .then((lines) => stale || setResult({ code, lines }))
      .catch((error: unknown) => console.error('Highlighting failed', error));
    return () => {
      stale = true;
    };
  }, [code, language]);
  return result?.code === code ? result.lines : undefined;
}
