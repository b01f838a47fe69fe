// What a tab of the connect section shows and copies (spec 2, Connect section).

type SnippetLanguage = 'yaml' | 'shellscript' | 'systemd';

export interface Snippet {
  /** What Copy puts on the clipboard: works as pasted. */
  readonly text: string;
  /** The same text cut where the language changes, for highlighting; joined, they are `text`. */
  readonly sections: readonly SnippetSection[];
}

interface SnippetSection {
  readonly language: SnippetLanguage;
  readonly text: string;
}

export type SnippetTab = 'kubernetes' | 'cli' | 'systemd';

export const snippetTabs: readonly { readonly id: SnippetTab; readonly label: string }[] = [
  { id: 'kubernetes', label: 'Kubernetes YAML' },
  { id: 'cli', label: 'CLI' },
  { id: 'systemd', label: 'systemd' },
];

export function joinSections(sections: readonly SnippetSection[]): Snippet {
  return { text: sections.map((section) => section.text).join(''), sections };
}
