// A legal text as a page, with a table of contents on wide screens.
import { formatDay } from '../../ui/date/date-format.ts';
import type { LegalDocument } from './legal-document.ts';
import { LegalText } from './legal-text.tsx';

export function LegalPage({ document }: { readonly document: LegalDocument }) {
  return (
    <div className="mx-auto grid w-full max-w-5xl gap-x-12 gap-y-8 lg:grid-cols-[15rem_minmax(0,1fr)]">
      <header className="lg:col-start-2">
        <title>{`${document.title} · Underpass`}</title>
        <h1 tabIndex={-1} className="text-3xl font-bold tracking-tight">
          {document.title}
        </h1>
        <p className="mt-2 text-sm text-ink-soft">Last updated {formatDay(document.updated, 'long', 'UTC')}</p>
        <p className="mt-5 rounded-lg border-l-4 border-accent bg-surface px-5 py-4 text-lg">{document.summary}</p>
      </header>
      <Contents document={document} />
      <article className="max-w-prose lg:col-start-2">
        <LegalText document={document} headingLevel={2} />
      </article>
    </div>
  );
}

function Contents({ document }: { readonly document: LegalDocument }) {
  return (
    <nav aria-label="Contents" className="hidden lg:col-start-1 lg:row-span-2 lg:row-start-1 lg:block">
      <ol className="sticky top-20 grid max-h-[calc(100dvh-6rem)] gap-0.5 overflow-y-auto pb-4 text-sm">
        {document.sections.map((section, index) => (
          <li key={section.id}>
            <a href={`#${section.id}`} className="block rounded-sm px-2 py-1 text-ink-soft hover:bg-hover hover:text-ink">
              {index + 1}. {section.title}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
