// The frame of the public pages: the logo above, the footer below (spec 2, Public pages). It needs no router.
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import { productName } from '@underpass/rules/text/text.ts';
import type { ReactNode } from 'react';
import { askFor } from '../api/answers.ts';
import { useFetched } from '../api/use-fetched.ts';
import { paths } from '../routing/paths.ts';
import { Logo } from '../ui/logo.tsx';
import type { PageLink } from '../ui/page-link.tsx';

interface PublicFrameProps {
  readonly Link: PageLink;
  /** Shown below the bar while the next page loads. */
  readonly progress?: ReactNode;
  readonly children: ReactNode;
}

export function PublicFrame({ Link, progress, children }: PublicFrameProps) {
  return (
    <div className="flex min-h-dvh flex-col">
      <header className="relative bg-bar text-ink scheme-dark">
        <div className="mx-auto flex h-14 max-w-6xl items-center px-4 sm:px-6">
          <Link to={paths.home()} aria-label="Underpass home" className="flex rounded-sm">
            <Logo />
          </Link>
        </div>
        {progress}
      </header>
      <main tabIndex={-1} className="flex flex-1 flex-col px-4 py-10 sm:px-6 sm:py-16">
        {children}
      </main>
      <PublicFooter Link={Link} />
    </div>
  );
}

/** The page does not wait for the operator's name; the line has the same height without it. */
function PublicFooter({ Link }: Pick<PublicFrameProps, 'Link'>) {
  const { data: meta } = useFetched(askFor(publicCalls.getMeta, {}));
  return (
    <footer className="border-t">
      <div className="mx-auto flex max-w-6xl flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-5 text-sm text-ink-soft sm:px-6">
        <p>
          © {new Date().getFullYear()} {meta?.operator.name ?? productName}. All rights reserved.
        </p>
        <nav aria-label="Legal" className="flex flex-wrap gap-x-5 gap-y-1">
          <Link to={paths.termsOfService()} className="underline-offset-4 hover:underline">
            Terms of Service
          </Link>
          <Link to={paths.privacyPolicy()} className="underline-offset-4 hover:underline">
            Privacy Policy
          </Link>
          <Link to={paths.abuse()} className="underline-offset-4 hover:underline">
            Report abuse
          </Link>
        </nav>
      </div>
    </footer>
  );
}
