// Reads the fenced blocks of a page of the docs. What follows the language in the opening line says what a test does:
//   ```sh run                          runs; must end with exit code 0
//   ```sh run expect="text"            its output must hold that text, too
//   ```sh run eventually expect="..."  is tried again for a while: what it shows takes a moment
//   ```sh run printed                  runs the line of the server's welcome that begins as the block does up to "…"
//   ```sh run background ready="text"  goes on until the page ends; its output must come to hold that text
//   with `section` besides             until the next heading only
//   ```sh no-run reason="why"          cannot be run by a test, and why
//   ```nginx file=nginx.conf           is written to that file of the page's folder (any language)
//   ```yaml kubernetes                 is judged by Kubernetes' schemas; other yaml and json must at least parse
//   ```text                            is shown; nothing to check

export interface Block {
  readonly page: string;
  readonly line: number;
  /** How many headings stand above it. */
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

/** A block inside a list is indented as a whole. */
function dedent(lines: readonly string[]): string[] {
  const indents = lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length);
  const least = indents.length === 0 ? 0 : Math.min(...indents);
  return lines.map((line) => line.slice(least));
}

export const place = ({ page, line }: Block): string => `${page}:${line}`;

/** What is wrong with how a block is marked; empty where a test knows what to do. */
export function markProblem({ language, words, values }: Block): string {
  if (language === '') return 'has no language';
  if (language !== 'sh') return '';
  if (words.has('run') === words.has('no-run')) return 'must be marked run or no-run';
  if (words.has('no-run') && !values.reason) return 'does not say why it is not run';
  if (words.has('background') && !values.ready) return 'does not say when it is ready';
  return '';
}
