// A part of a page whose code loads when it shows. If the code does not arrive or the part fails, the rest of the page stays, with
// everything typed, and the part has a retry.
import { Component, type ComponentType, lazy, type ReactNode, Suspense, useLayoutEffect, useReducer, useState } from 'react';
import { loadPart } from '../code-loading/load-code.ts';
import { loadLater } from '../code-loading/load-later.ts';
import { useNewVersion } from '../code-loading/new-version.ts';
import { reloadDocument } from '../unsaved/use-unsaved.ts';
import { Banner } from './banner.tsx';
import { Button } from './button.tsx';

const failureOf = (what: string) => `${what} could not be loaded.`;

/** `what` starts the sentence that says what could not be loaded. */
export function lazyPart<Props extends object>(
  what: string,
  load: () => Promise<ComponentType<Props>>,
  fallback?: ReactNode,
): ComponentType<Props> {
  let code: Promise<{ default: ComponentType<Props> }> | undefined;
  const start = () =>
    lazy(() => {
      code = loadPart(load, failureOf(what)).then((Part) => ({ default: Part }));
      return code;
    });
  // React keeps the failure of a lazy component, so a retry needs another one.
  let latest = start();
  return function LazyPart(props: Props) {
    const [Part, setPart] = useState(() => latest);
    const [, renderAgain] = useReducer((times: number) => times + 1, 0);
    // React keeps a placeholder for 300 ms, unless something other than its promise renders the part.
    // biome-ignore lint/correctness/useExhaustiveDependencies: each part has code of its own.
    useLayoutEffect(() => void code?.then(renderAgain, () => {}), [Part]);
    const retry = () => {
      latest = start();
      setPart(latest);
    };
    return (
      <Boundary what={what} onRetry={retry}>
        <Suspense fallback={fallback}>
          <Part {...props} />
        </Suspense>
      </Boundary>
    );
  };
}

/** A part that opens over the page. Its code loads once the page has shown, or when the part first opens. */
export function lazyOverlay<Props extends { readonly open: boolean }>(
  what: string,
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  loadLater(load);
  const Part = lazyPart(what, load);
  return function LazyOverlay(props: Props) {
    const [hasOpened, setHasOpened] = useState(false);
    if (props.open && !hasOpened) setHasOpened(true);
    return hasOpened && <Part {...props} />;
  };
}

interface BoundaryProps {
  readonly what: string;
  readonly onRetry: () => void;
  readonly children: ReactNode;
}

class Boundary extends Component<BoundaryProps, { readonly failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    const { what, onRetry, children } = this.props;
    if (!this.state.failed) return children;
    const retry = () => {
      onRetry();
      this.setState({ failed: false });
    };
    return <PartFailed what={what} onRetry={retry} />;
  }
}

/** Replaces a part whose code did not load. Another version has other files: then only a reload helps. */
export function PartFailed({ what, onRetry }: { readonly what: string; readonly onRetry: () => void }) {
  const isNewVersion = useNewVersion();
  if (isNewVersion) return <NewVersionBanner />;
  return (
    <Banner
      tone="warn"
      title={failureOf(what)}
      action={
        <Button size="sm" onClick={onRetry}>
          Try Again
        </Button>
      }
    />
  );
}

export function NewVersionBanner({ className = '' }: { readonly className?: string }) {
  const reload = (
    <Button size="sm" onClick={reloadDocument}>
      Reload
    </Button>
  );
  return <Banner title="A new version of the dashboard is ready." action={reload} className={className} />;
}
