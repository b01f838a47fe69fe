// A legal text: prose in Markdown with the operator and the retention times filled in. Its page and the registration form
// render it at different heading levels. What the texts say of retention, cookies and traffic is what this software does: change both together.

import type { OperatorIdentity } from '@underpass/rules/entity/resource.ts';
import { durations, retentionDays } from '@underpass/rules/limits.ts';

/** A paragraph, or the items of a list. */
export type LegalBlock = string | readonly string[];

export interface LegalSection {
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly LegalBlock[];
}

export interface LegalDocument {
  readonly title: string;
  /** ISO date of the last change to the wording. */
  readonly updated: string;
  readonly summary: string;
  readonly sections: readonly LegalSection[];
}

/** Reads `# Title`, `Updated: DATE`, a summary, then sections `## Title {#id}` of paragraphs and `- ` lists. */
export function parseLegalDocument(markdown: string, operator: OperatorIdentity): LegalDocument {
  const values = valuesOf(operator);
  const text = markdown.replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
  const [head = '', ...sections] = text.split(/^## /m);
  const [title = '', updated = '', summary = ''] = paragraphsOf(head);
  return {
    title: title.replace('# ', ''),
    updated: updated.replace('Updated: ', ''),
    summary,
    sections: sections.map(parseSection),
  };
}

function parseSection(text: string): LegalSection {
  const [heading = '', ...blocks] = paragraphsOf(text);
  const [, title = '', id = ''] = /^(.*) \{#(.*)\}$/.exec(heading) ?? [];
  return { id, title, blocks: blocks.map((block) => (block.startsWith('- ') ? block.slice(2).split('\n- ') : block)) };
}

function paragraphsOf(text: string): string[] {
  return text.trim().split('\n\n');
}

function valuesOf({ name, email, address, companyNumber }: OperatorIdentity): Readonly<Record<string, string | number>> {
  const number = companyNumber ? ` (company number ${companyNumber})` : '';
  const office = address ? `, whose registered office is at ${address}` : '';
  return {
    name,
    email,
    operator: `${name}, a company registered in England and Wales${number}${office}`,
    nameAndAddress: address ? `${name}, ${address}` : name,
    byPost: address ? ` or by post at ${address}` : '',
    registrationDays: retentionDays.registration,
    auditLogDays: retentionDays.auditLog,
    visitorSignInDays: retentionDays.accessSignIn,
    abuseReportDays: retentionDays.closedAbuseReport,
    nameRestDays: durations.generatedNameRestDays,
    loginLinkMinutes: durations.loginLinkMinutes,
    sessionIdleDays: durations.sessionIdleDays,
  };
}
