// Runs every command of the docs as written, against a product that the test starts.

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { kubernetesComplaints, parseManifests } from '../helpers/kubernetes.ts';
import { skipWithout } from '../helpers/tool.ts';
import { type Block, markProblem, place, readBlocks } from './page.ts';
import { type DocsStage, openStage, tools } from './stage.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = globSync('{*.md,docs/*.md,{bench,deploy}/README.md}', { cwd: root }).sort();
const blocksOf = (page: string): Block[] => readBlocks(page, readFileSync(`${root}${page}`, 'utf8'));
const isStaged = ({ words, values }: Block): boolean => words.has('run') || values.file !== undefined;

test('every block of the docs has a language, and every command runs or states why it cannot', () => {
  const problems = pages.flatMap(blocksOf).flatMap((block) => {
    const problem = markProblem(block);
    return problem === '' ? [] : [`${place(block)} ${problem}`];
  });
  assert.deepEqual(problems, []);
});

/** Several at once, because pages mostly wait for clients to connect and servers to start. */
const pagesAtOnce = 3;

describe('commands of the docs', { concurrency: pagesAtOnce }, () => {
  for (const page of pages.filter((name) => blocksOf(name).some((block) => block.words.has('run')))) {
    test(`${page} works as written`, { skip: skipWithout(...tools) }, async (t) => {
      const stage = await openStage(t);
      let section = 0;
      for (const block of blocksOf(page).filter(isStaged)) {
        if (block.section !== section) await stage.endSection();
        section = block.section;
        await play(stage, block);
      }
    });
  }
});

async function play(stage: DocsStage, block: Block): Promise<void> {
  try {
    if (block.values.file === undefined) await playCommand(stage, block);
    else await stage.writeFile(block.values.file, block.text);
  } catch (error) {
    throw new Error(`${place(block)}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

async function playCommand(stage: DocsStage, { words, values, text }: Block): Promise<void> {
  const script = words.has('printed') ? printedLine(stage, text) : text;
  if (words.has('background')) return stage.runInBackground(script, values.ready ?? '', words.has('section'));
  const attempt = () => runAndExpect(stage, script, values.expect ?? '');
  return words.has('eventually') ? eventually(attempt) : attempt();
}

async function runAndExpect(stage: DocsStage, script: string, expect: string): Promise<void> {
  const output = await stage.run(script);
  const expected = stage.localise(expect);
  if (!output.includes(expected)) throw new Error(`does not say "${expected}":\n${output}`);
}

/** The line of the server's first start that begins as the page shows it. */
function printedLine({ product }: DocsStage, text: string): string {
  const [shown = ''] = text.trim().split('…');
  const line = product.text.split('\n').find((printed) => printed.trim().startsWith(shown.trim()));
  if (line === undefined) throw new Error(`the server does not print "${shown}":\n${product.text}`);
  return line.trim();
}

/** Retries: a change reaches the edge within a second, a certificate within a few seconds. */
async function eventually(attempt: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
}

test('Kubernetes accepts every manifest in the docs', async () => {
  const blocks = pages.flatMap(blocksOf).filter(({ words }) => words.has('kubernetes'));
  for (const block of blocks) {
    assert.deepEqual(await kubernetesComplaints(parseManifests(block.text)), [], place(block));
  }
});

test('every other YAML and JSON block in the docs parses', () => {
  const blocks = pages
    .flatMap(blocksOf)
    .filter(({ language, words }) => ['yaml', 'json'].includes(language) && !words.has('kubernetes'));
  for (const block of blocks) {
    const errors = parseAllDocuments(block.text, { uniqueKeys: true }).flatMap((document) =>
      'errors' in document ? document.errors : [],
    );
    assert.deepEqual(errors, [], place(block));
  }
});
