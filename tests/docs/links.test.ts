// Links between pages of the docs: each leads to a file that exists, and to a heading of it.

import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = globSync('{*.md,docs/**/*.md,{bench,deploy,rules}/README.md}', { cwd: root });

/** As GitHub makes anchors: lower case, punctuation dropped, spaces to hyphens. */
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

test('every link of the docs leads to a file, and to a heading of it', () => {
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

test('every page of the docs is in its index', () => {
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8');
  const missing = globSync('*.md', { cwd: join(root, 'docs') }).filter(
    (page) => page !== 'README.md' && !index.includes(`(${page})`),
  );
  assert.deepEqual(missing, []);
});
