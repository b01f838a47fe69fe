import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { arrowProblems, checkArrows, insideProblems, undescribed } from './arrows.mjs';

const refused = [
  ['rules/email.ts', "import { x } from '@underpass/wire/feed/feed.ts';", 'rules stands alone'],
  ['rules/email.ts', "import { readFileSync } from 'node:fs';", 'a rule reads nothing'],
  ['rules/email.ts', "import { z } from 'zod';", 'a rule has no packages'],
  ['rules/date.ts', 'export const now = () => Date.now();', 'the clock is passed in'],
  ['rules/date.ts', 'export const now = () => new Date();', 'the clock is passed in'],
  ['rules/date.ts', 'export const text = () => `${Date.now()}`;', 'a clock inside a template is a clock'],
  ['rules/name.ts', 'export const pick = () => Math.random();', 'randomness is passed in'],
  ['wire/core/codec.ts', "import { connect } from 'node:net';", 'a core opens no socket'],
  ['wire/core/stream.ts', 'setTimeout(() => {}, 1);', 'a core has no timers'],
  ['wire/session/session.ts', "import { a } from '../../edge/edge.ts';", 'relative paths are arrows too'],
  ['edge/edge.ts', "import { createControl } from '@underpass/control/control.ts';", 'an app never imports another app'],
  ['client/main.ts', "const edge = await import('@underpass/edge/edge.ts');", 'a dynamic import is an import'],
  ['dashboard/main.tsx', "import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';", 'the dashboard never sees the wire'],
  ['control/control.ts', "export { run } from '../server/main.ts';", 'handing on is importing'],
  ['control/a.ts', "import '@underpass/edge/edge.ts';", 'an import for its effects is an import'],
];

const allowed = [
  ['rules/email.ts', "import type { Parsed } from './parsed.ts';", 'neighbours'],
  ['rules/email.ts', "// import { x } from '@underpass/wire/feed/feed.ts' would be wrong", 'a comment is not an import'],
  ['rules/entity/entity.ts', "import { z } from 'zod';", 'schemas are made with zod'],
  ['rules/text.ts', "export const hint = 'never call Date.now() here';", 'a string is not a call'],
  ['rules/date.ts', 'export const text = (at: number) => new Date(at).toISOString();', 'a given time is pure'],
  [
    'rules/email.test.ts',
    "import { readFileSync } from 'node:fs';\nimport { z } from 'zod';",
    'tests may use anything of their own',
  ],
  ['wire/session/session.ts', "import { Duplex } from 'node:stream';", 'a shell may use Node'],
  ['wire/core/codec.test.ts', "import { requireTool } from '../../tests/helpers/tool.ts';", 'tests may use the helpers'],
  ['server/serve/start.ts', "import { createEdge } from '@underpass/edge/edge.ts';", 'the server composes'],
  ['dashboard/main.tsx', "import { parseEmail } from '@underpass/rules/email.ts';", 'rules are for all'],
];

for (const [file, source, why] of refused) {
  test(`refuses ${file} when ${why}: ${source}`, () => assert.notDeepEqual(arrowProblems(file, source), []));
}

for (const [file, source, why] of allowed) {
  test(`accepts ${file} because ${why}: ${source}`, () => assert.deepEqual(arrowProblems(file, source), []));
}

const house = {
  'control/main.ts': "import { routes } from './api/routes.ts';",
  'control/api/routes.ts': "import { tunnels } from '../tunnel/tunnels.ts';\nimport { rows } from '../store/rows.ts';",
  'control/tunnel/tunnels.ts': "import type { Rows } from '../store/rows.ts';",
  'control/tunnel/core/status.ts': '',
  'control/store/rows.ts': "import { parse } from '@underpass/rules/email.ts';",
  'edge/edge.ts': "import { a } from './unchecked/a.ts';",
};
const groups = [['store'], ['tunnel'], ['api'], ['.']];
const inside = (changes) => insideProblems('control', groups, { ...house, ...changes });

const knots = [
  [
    'two folders',
    { 'control/store/rows.ts': "import { a } from '../tunnel/tunnels.ts';" },
    /control: folders in a circle: store → tunnel → store/,
  ],
  [
    'two folders by their types alone',
    { 'control/store/rows.ts': "import type { Tunnel } from '@underpass/control/tunnel/tunnels.ts';" },
    /control: folders in a circle: store → tunnel → store/,
  ],
  [
    'a folder and the files beside it',
    {
      'control/tunnel/tunnels.ts': "import { status } from './core/status.ts';",
      'control/tunnel/core/status.ts': "export type { Other } from '../other.ts';",
      'control/tunnel/other.ts': '',
    },
    /control\/tunnel: folders in a circle: \. → core → \./,
  ],
  [
    'two files of one folder',
    { 'control/store/rows.ts': "import './tables.ts';", 'control/store/tables.ts': "type Row = import('./rows.ts').Row;" },
    /^files in a circle: control\/store\/rows\.ts → control\/store\/tables\.ts → control\/store\/rows\.ts/,
  ],
];

for (const [knot, changes, problem] of knots) {
  test(`refuses a circle of ${knot}`, () =>
    assert.ok(
      inside(changes).some((line) => problem.test(line)),
      inside(changes).join('\n'),
    ));
}

test('refuses an import of a higher layer', () => {
  assert.deepEqual(inside({ 'control/store/clock.ts': "import { routes } from '../api/routes.ts';" }).slice(0, 1), [
    "control/store/clock.ts: 'store' may not import 'api', a higher layer ('control/api/routes.ts')",
  ]);
});

test('refuses a folder that the layers do not name, and a name without a folder', () => {
  const problems = insideProblems('control', [['store'], ['gone'], ['api'], ['.']], house);
  assert.match(problems.join('\n'), /'tunnel' is in no layer/);
  assert.match(problems.join('\n'), /names 'gone', which does not exist/);
});

test('accepts imports of lower layers and of the same group, and ignores tests, test kits and fixtures', () => {
  const reachUp = "import { main } from '../main.ts';";
  assert.deepEqual(
    inside({
      'control/store/rows.test.ts': reachUp,
      'control/store/test-kit.ts': reachUp,
      'control/fixture/store.ts': reachUp,
    }),
    [],
  );
  assert.deepEqual(
    insideProblems(
      'control',
      [
        ['store', 'tunnel'],
        ['api', '.'],
      ],
      house,
    ),
    [],
  );
});

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
