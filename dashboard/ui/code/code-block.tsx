// Code on a dark background in both themes; long lines wrap on a phone. It renders plain, and coloured once it is in view and the highlighter has loaded.
// Tokens are React spans with colours set through the CSSOM, which the strict CSP allows.
import { startTransition, useEffect, useRef, useState } from 'react';
import { useInView } from '../use-in-view.ts';
import { type HighlightedLine, highlight, type Language } from './highlight.ts';

interface CodeSection {
  readonly language: Language;
  readonly text: string;
}

interface CodeBlockProps {
  /** One section for each change of language, each highlighted by its own grammar. */
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
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a scrolling area (WCAG 2.1.1).
      tabIndex={0}
      aria-label={label}
      className="max-h-104 overflow-auto rounded-md border border-edge/40 scroll-hint scheme-dark print:max-h-none"
    >
      <pre className="p-4 font-mono text-sm wrap-anywhere whitespace-pre-wrap text-ink sm:w-max sm:whitespace-pre">
        <code>
          {sections.map((section, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a section has no key but its index.
            <Section key={index} section={section} coloured={seen} />
          ))}
        </code>
      </pre>
    </section>
  );
}

/** Keeps the colours of unchanged lines while a changed text is being highlighted. */
function Section({ section, coloured }: { readonly section: CodeSection; readonly coloured: boolean }) {
  const known = useHighlight(section, coloured);
  return section.text.split('\n').map((line, index, all) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a line has no key but its index.
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
    const show = (highlighted: readonly HighlightedLine[]) =>
      startTransition(() => setLines(new Map(highlighted.map((line) => [textOf(line), line]))));
    return highlight(text, language, show);
  }, [text, language, wanted]);
  return lines;
}

const textOf = (line: HighlightedLine) => line.map((token) => token.text).join('');
