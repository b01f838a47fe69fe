import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { arrowProblems, checkArrows, undescribed } from './arrows.mjs';

const refused = [
  ['rules/email.ts', "import { x } from '@underpass/wire/feed.ts';", 'rules stands alone'],
  ['rules/email.ts', "import { readFileSync } from 'node:fs';", 'a rule reads nothing'],
  ['rules/email.ts', "import { z } from 'zod';", 'a rule has no packages'],
  ['rules/date.ts', 'export const now = () => Date.now();', 'the clock is passed in'],
  ['rules/date.ts', 'export const now = () => new Date();', 'the clock is passed in'],
  ['rules/date.ts', 'export const text = () => `${Date.now()}`;', 'a clock inside a template is a clock'],
  ['rules/name.ts', 'export const pick = () => Math.random();', 'randomness is passed in'],
  ['wire/core/codec.ts', "import { connect } from 'node:net';", 'a core opens no socket'],
  ['wire/core/stream.ts', 'setTimeout(() => {}, 1);', 'a core has no timers'],
  ['wire/session.ts', "import { a } from '../edge/edge.ts';", 'relative paths are arrows too'],
  ['edge/edge.ts', "import { createControl } from '@underpass/control/control.ts';", 'an app never imports another app'],
  ['client/main.ts', "const edge = await import('@underpass/edge/edge.ts');", 'a dynamic import is an import'],
  ['dashboard/main.tsx', "import type { FeedTunnel } from '@underpass/wire/feed.ts';", 'the dashboard never sees the wire'],
  ['control/control.ts', "export { run } from '../server/main.ts';", 'handing on is importing'],
  ['control/a.ts', "import '@underpass/edge/edge.ts';", 'an import for its effects is an import'],
];

const allowed = [
  ['rules/email.ts', "import type { Parsed } from './parsed.ts';", 'neighbours'],
  ['rules/email.ts', "// import { x } from '@underpass/wire/feed.ts' would be wrong", 'a comment is not an import'],
  ['rules/text.ts', "export const hint = 'never call Date.now() here';", 'a string is not a call'],
  ['rules/date.ts', 'export const text = (at: number) => new Date(at).toISOString();', 'a given time is pure'],
  [
    'rules/email.test.ts',
    "import { readFileSync } from 'node:fs';\nimport { z } from 'zod';",
    'tests may use anything of their own',
  ],
  ['wire/session.ts', "import { Duplex } from 'node:stream';", 'a shell may use Node'],
  ['wire/core/codec.test.ts', "import { requireTool } from '../../tests/helpers/tool.ts';", 'tests may use the helpers'],
  ['server/start.ts', "import { createEdge } from '@underpass/edge/edge.ts';", 'the server composes'],
  ['dashboard/main.tsx', "import { parseEmail } from '@underpass/rules/email.ts';", 'rules are for all'],
];

for (const [file, source, why] of refused) {
  test(`refuses ${file} when ${why}: ${source}`, () => assert.notDeepEqual(arrowProblems(file, source), []));
}

for (const [file, source, why] of allowed) {
  test(`accepts ${file} because ${why}: ${source}`, () => assert.deepEqual(arrowProblems(file, source), []));
}

test('a folder without a README is a problem', () => {
  assert.deepEqual(
    undescribed(() => true),
    [],
  );
  assert.match(undescribed((path) => path !== 'wire/README.md').join(), /^wire\/README\.md: is missing/);
});

test('the repository keeps its own arrows', () => {
  const { read, problems } = checkArrows(dirname(dirname(fileURLToPath(import.meta.url))));
  assert.ok(read > 0);
  assert.deepEqual(problems, []);
});
