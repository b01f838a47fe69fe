// What shows before the first page: the bar, empty, and a spinner. The build writes it into the page (bundle/first-load.ts), so it shows
// before any script has come; the page then replaces it at once, with its data.
import { Logo } from '../ui/logo.tsx';
import { LoadingArea } from '../ui/spinner.tsx';

export function FirstLoad() {
  return <LoadingArea className="min-h-dvh" />;
}

/** The bar of a narrow window begins with a button, which needs the script, so it shows no logo here. */
export function FirstFrame() {
  return (
    <>
      <header className="fixed inset-x-0 top-0 flex h-14 items-center bg-bar px-5 text-ink scheme-dark">
        <span className="flex max-lg:invisible">
          <Logo />
        </span>
      </header>
      <FirstLoad />
    </>
  );
}
