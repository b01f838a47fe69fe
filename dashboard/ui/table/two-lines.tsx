// A cell of two lines: the second, smaller one tells more about the first.
import type { ReactNode } from 'react';

interface TwoLinesProps {
  readonly children: ReactNode;
  readonly second: ReactNode;
  /** True if the first line names the row. */
  readonly isTitle?: boolean;
}

export const TwoLines = ({ children, second, isTitle = false }: TwoLinesProps) => (
  <span className="grid">
    <span className={isTitle ? 'font-semibold' : undefined}>{children}</span>
    {second && <span className="text-sm text-ink-soft">{second}</span>}
  </span>
);
