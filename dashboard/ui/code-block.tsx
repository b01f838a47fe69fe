// Code on a dark ground in both themes. Plain at once; coloured when it has been in sight and the highlighter has arrived (shiki).
// Tokens are React spans whose colours are set through the CSSOM, so the strict CSP stands.
import { useEffect, useRef, useState } from 'react';
import type { HighlightedLine, Language } from './highlight.ts';
import { useInView } from './use-in-view.ts';

interface CodeSection {
  readonly language: Language;
  readonly text: string;
}

export interface CodeBlockProps {
  /** Text whose language changes comes in several sections; each is coloured by its own grammar. */
  readonly sections: readonly CodeSection[];
  /** Names the block for screen readers. */
  readonly label: string;
}

export function CodeBlock({ sections, label }: CodeBlockProps) {
  const block = useRef<HTMLElement>(null);
  const seen = useInView(block);
  return (
    <section
      ref={block}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls has to be reachable by keyboard (WCAG 2.1.1).
      tabIndex={0}
      aria-label={label}
      className="max-h-104 overflow-auto rounded-md bg-bar scheme-dark print:max-h-none"
    >
      <pre className="w-max p-4 font-mono text-sm text-ink">
        <code>
          {sections.map((section, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a section has no identity but its place.
            <Section key={index} section={section} coloured={seen} />
          ))}
        </code>
      </pre>
    </section>
  );
}

/** While the colours of a changed text are on their way, its old lines keep theirs where they are the same. */
function Section({ section, coloured }: { readonly section: CodeSection; readonly coloured: boolean }) {
  const known = useHighlight(section, coloured);
  return section.text.split('\n').map((line, index, all) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a line has no identity but its place.
    <span key={index}>
      {known?.get(line)?.map(renderToken) ?? line}
      {index < all.length - 1 && '\n'}
    </span>
  ));
}

function renderToken(token: HighlightedLine[number], index: number) {
  return (
    <span key={index} style={{ color: token.color }}>
      {token.text}
    </span>
  );
}

function useHighlight({ text, language }: CodeSection, wanted: boolean): ReadonlyMap<string, HighlightedLine> | undefined {
  const [lines, setLines] = useState<ReadonlyMap<string, HighlightedLine>>();
  useEffect(() => {
    if (!wanted) return;
    let stale = false;
    import('./highlight.ts')
      .then(({ highlight }) => highlight(text, language))
      .then((highlighted) => stale || setLines(new Map(highlighted.map((line) => [textOf(line), line]))))
      .catch((error: unknown) => console.error('Highlighting failed', error));
    return () => {
      stale = true;
    };
  }, [text, language, wanted]);
  return lines;
}

const textOf = (line: HighlightedLine) => line.map((token) => token.text).join('');
