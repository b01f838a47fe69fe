// Renders a legal text with headings from a given level.
import type { ReactNode } from 'react';
import type { LegalBlock, LegalDocument, LegalSection } from './legal-document.ts';

interface LegalTextProps {
  readonly document: LegalDocument;
  readonly headingLevel: 2 | 3;
  /** Keeps anchors unique when one page shows two texts. */
  readonly idPrefix?: string;
}

export function LegalText({ document, headingLevel, idPrefix = '' }: LegalTextProps) {
  return (
    <div className="grid gap-8">
      {document.sections.map((section, index) => (
        <Section key={section.id} section={section} number={index + 1} headingLevel={headingLevel} idPrefix={idPrefix} />
      ))}
    </div>
  );
}

interface SectionProps {
  readonly section: LegalSection;
  readonly number: number;
  readonly headingLevel: 2 | 3;
  readonly idPrefix: string;
}

function Section({ section, number, headingLevel, idPrefix }: SectionProps) {
  const Heading = headingLevel === 2 ? 'h2' : 'h3';
  return (
    <section className="grid gap-3">
      <Heading
        id={idPrefix + section.id}
        className={headingLevel === 2 ? 'scroll-mt-24 text-xl font-bold' : 'text-base font-bold'}
      >
        {number}. {section.title}
      </Heading>
      {section.blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the text never reorders.
        <Block key={index} block={block} />
      ))}
    </section>
  );
}

function Block({ block }: { readonly block: LegalBlock }) {
  if (typeof block === 'string') return <p>{linked(block)}</p>;
  return (
    <ul className="grid list-disc gap-1.5 pl-6 marker:text-ink-faint">
      {block.map((item) => (
        <li key={item}>{linked(item)}</li>
      ))}
    </ul>
  );
}

const link = /(https:\/\/[^\s,]*[^\s,.]|[^\s@,]+@[^\s@,]*[^\s@,.])/;

/** Turns addresses into links. split() by a capturing group puts them at odd indexes. */
function linked(text: string): ReactNode[] {
  return text.split(link).map((part, index) => {
    if (index % 2 === 0) return part;
    const href = part.startsWith('https:') ? part : `mailto:${part}`;
    return (
      <a key={part} href={href} className="underline decoration-edge underline-offset-3 wrap-anywhere hover:decoration-current">
        {part}
      </a>
    );
  });
}
