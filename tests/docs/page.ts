// Reads the fenced blocks of a page of the docs. The words after the language tell the test what to do with a block:
//   ```sh run                          run it; it must exit with 0
//   ```sh run expect="text"            run it; its output must also contain the text
//   ```sh run eventually expect="..."  retry it for up to 30 s until it succeeds
//   ```sh run printed                  run the line of the server's welcome that begins like the block up to "…"
//   ```sh run background ready="text"  keep it running until the page ends; wait until its output contains the text
//   with `section` added               keep it running until the next heading only
//   ```sh no-run reason="why"          do not run it, for this reason
//   ```nginx file=nginx.conf           write it to that file in the page's folder (any language)
//   ```yaml kubernetes                 check it against the schemas of Kubernetes; other yaml and json must parse
//   ```text                            shown only; nothing to check

export interface Block {
  readonly page: string;
  readonly line: number;
  /** The number of headings above it. */
  readonly section: number;
  readonly language: string;
  readonly words: ReadonlySet<string>;
  readonly values: Readonly<Record<string, string>>;
  readonly text: string;
}

export function readBlocks(page: string, markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: { readonly line: number; readonly info: string; readonly lines: string[] } | undefined;
  let section = 0;
  for (const [index, line] of markdown.split('\n').entries()) {
    const fence = /^\s*```(.*)$/.exec(line);
    if (fence === null && open === undefined && line.startsWith('#')) section += 1;
    else if (fence === null) open?.lines.push(line);
    else if (open === undefined) open = { line: index + 1, info: fence[1] ?? '', lines: [] };
    else {
      blocks.push({ page, line: open.line, section, ...readInfo(open.info), text: `${dedent(open.lines).join('\n')}\n` });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: the block is not closed`);
  return blocks;
}

function readInfo(info: string): Pick<Block, 'language' | 'words' | 'values'> {
  const parts = [...info.matchAll(/([a-z-]+)(?:=(?:"([^"]*)"|(\S+)))?/g)];
  const values = parts.flatMap(([, key = '', quoted, plain]) => {
    const value = quoted ?? plain;
    return value === undefined ? [] : [[key, value] as const];
  });
  const words = parts.filter(([, , quoted, plain]) => (quoted ?? plain) === undefined).map(([, word = '']) => word);
  const [language = '', ...rest] = words;
  return { language, words: new Set(rest), values: Object.fromEntries(values) };
}

/** Removes the indentation of a block inside a list. */
function dedent(lines: readonly string[]): string[] {
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length);
  const least = indents.length === 0 ? 0 : Math.min(...indents);
  return lines.map((line) => line.slice(least));
}

export const place = ({ page, line }: Block): string => `${page}:${line}`;

/** What is wrong with the words of a block; empty if the test knows what to do. */
export function markProblem({ language, words, values }: Block): string {
  if (language === '') return 'has no language';
  if (language !== 'sh') return '';
  if (words.has('run') === words.has('no-run')) return 'must be marked run or no-run';
  if (words.has('no-run') && !values.reason) return 'does not say why it is not run';
  if (words.has('background') && !values.ready) return 'does not say when it is ready';
  return '';
}
