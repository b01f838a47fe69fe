// A legal text as data: its page and the registration form render it at different heading levels.
import type { OperatorIdentity } from '@underpass/rules/resource.ts';

/** A paragraph, or a list under an optional opening line. */
export type LegalBlock = string | { readonly intro?: string; readonly items: readonly string[] };

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

/** "Underpass Ltd, a company registered in England and Wales (company number …), whose registered office is at …". */
export function renderOperatorIdentity(operator: OperatorIdentity): string {
  const number = operator.companyNumber ? ` (company number ${operator.companyNumber})` : '';
  const office = operator.address ? `, whose registered office is at ${operator.address}` : '';
  return `${operator.name}, a company registered in England and Wales${number}${office}`;
}
