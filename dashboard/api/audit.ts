// The calls about the audit log.
import type { AuditPage } from '@underpass/rules/resource.ts';
import { request } from './request.ts';

export interface AuditFilter {
  readonly action?: string | undefined;
  readonly actor?: string | undefined;
  /** ISO 8601. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** One page, newest first; `before` is the `next` of the page before it. */
export const listAudit = (project: string, filter: AuditFilter, before?: string, signal?: AbortSignal) =>
  request<AuditPage>('GET', '/api/audit', { query: { project, ...filter, before }, signal });

/** A file for a link: the browser downloads it. */
export const auditExportUrl = (project: string) => `/api/audit/export?project=${encodeURIComponent(project)}`;
