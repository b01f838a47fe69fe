// Links between pages of the docs: each leads to an existing file and heading.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = globSync('{*.md,docs/**/*.md,{bench,deploy,rules}/README.md}', { cwd: root });

/** The anchor that GitHub makes of a heading: lower case, no punctuation, hyphens for spaces. */
function anchorsOf(page: string): Set<string> {
  const headings = [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function linkProblem(page: string, target: string): string {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? join(root, page) : join(root, dirname(page), path);
  if (!existsSync(file)) return `${page}: ${target} does not exist`;
  return anchor === undefined || anchorsOf(file).has(anchor) ? '' : `${page}: ${target} is no heading`;
}

test('every link of the docs leads to an existing file and heading', () => {
  const problems = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8').replace(/^```[\s\S]*?^```$/gm, '');
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    return targets.filter((target) => !/^(https?:|mailto:)/.test(target)).map((target) => linkProblem(page, target));
  });
  assert.deepEqual(
    problems.filter((problem) => problem !== ''),
    [],
  );
  assert.ok(pages.length > 15);
});

test('the index of the docs lists every page', () => {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8');
  const missing = globSync('*.md', { cwd: join(root, 'docs') }).filter(
    (page) => page !== 'README.md' && !index.includes(`(${page})`),
  );
  assert.deepEqual(missing, []);
});
