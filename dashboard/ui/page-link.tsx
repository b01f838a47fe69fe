// A link to a page of the dashboard, for screens that also work without the router.
import type { ComponentType, ReactNode } from 'react';

interface PageLinkProps {
  readonly to: string;
  readonly className?: string;
  readonly 'aria-label'?: string;
  readonly children: ReactNode;
}

/** The router's Link, or DocumentLink. */
export type PageLink = ComponentType<PageLinkProps>;

/** The browser loads the page. */
export const DocumentLink: PageLink = ({ to, ...rest }) => <a href={to} {...rest} />;
