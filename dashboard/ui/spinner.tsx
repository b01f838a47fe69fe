// Loading indicators: a spinning ring, and a skeleton in the place of the content. Neither moves the layout when loading ends.
import clsx from 'clsx';

function Spinner({ label = 'Loading', className }: { readonly label?: string; readonly className?: string }) {
  return (
    <span role="status" className={clsx('inline-flex items-center', className)}>
      <Ring />
      <span className="sr-only">{label}</span>
    </span>
  );
}

/** The ring without text, for a button with a label. */
export function Ring({ className = 'size-4' }: { readonly className?: string }) {
  return (
    <span
      aria-hidden="true"
      className={clsx(
        'inline-block animate-spin rounded-full border-2 border-current border-r-transparent opacity-80',
        className,
      )}
    />
  );
}

/** A loading area. Give it the height of the content. */
export function LoadingArea({
  label = 'Loading',
  className = 'min-h-64',
}: {
  readonly label?: string;
  readonly className?: string;
}) {
  return (
    <div className={clsx('flex items-center justify-center text-ink-faint', className)}>
      <Spinner label={label} className="[&>span:first-child]:size-6" />
    </div>
  );
}

export function Skeleton({ className }: { readonly className?: string }) {
  return <span aria-hidden="true" className={clsx('block animate-glow rounded-sm bg-sunken', className)} />;
}
