// The npm package: command and library as JavaScript, because Node strips no types below node_modules, with their few
// dependencies inside.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectUrl } from '../../rules/text/project-url.ts';
import { license, managedBy, summary } from './package-texts.ts';

export interface NpmOptions {
  readonly root: string;
  readonly compiler: string;
  readonly version: string;
  readonly update: string;
  readonly folder: string;
}

/** node:tls sets the authorities that it trusts from 24.5 on: the command needs it. A test runs it with exactly this version. */
export const oldestNode = '24.5.0';
/** The library loads modules when it needs them (process.getBuiltinModule, 20.16). A test runs it with exactly this version. */
export const oldestLibraryNode = '20.16.0';

export function makeNpmPackage({ root, compiler, version, update, folder }: NpmOptions): {
  readonly path: string;
  readonly name: string;
} {
  const stage = mkdtempSync(join(tmpdir(), 'underpass-npm-'));
  try {
    const bundled = bundle(compiler, root, join(stage, 'dist'));
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifestOf(version), null, 2)}\n`);
    writeFileSync(join(stage, 'underpass.mjs'), starter);
    writeFileSync(join(stage, managedBy), `${update}\n`);
    copyFileSync(join(root, 'client', 'library', 'underpass.d.ts'), join(stage, 'underpass.d.ts'));
    copyFileSync(join(root, 'deploy', 'release', 'npm-readme.md'), join(stage, 'README.md'));
    writeFileSync(join(stage, 'LICENSE'), licencesOf(root, bundled));
    const options = { cwd: stage, encoding: 'utf8', timeout: 60_000 } as const;
    const [packed] = JSON.parse(execFileSync('npm', ['pack', '--json', '--ignore-scripts'], options)) as { filename: string }[];
    const name = packed?.filename ?? '';
    copyFileSync(join(stage, name), join(folder, name));
    return { path: join(folder, name), name };
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Returns the packages of node_modules that are in the bundle. Command and library load only their own parts of it. */
function bundle(compiler: string, root: string, into: string): readonly string[] {
  const names = ['--entry-naming=[name].mjs', '--chunk-naming=[name]-[hash].mjs'];
  const args = ['--target=node', '--format=esm', '--splitting', '--minify-syntax', '--minify-whitespace', '--sourcemap=external'];
  const entries = ['underpass.ts', 'library/library.ts'].map((name) => join(root, 'client', name));
  execFileSync(compiler, ['build', ...entries, ...args, ...names, `--outdir=${into}`], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 120_000,
  });
  const maps = readdirSync(into).filter((name) => name.endsWith('.map'));
  const sources = maps.flatMap((name) => (JSON.parse(readFileSync(join(into, name), 'utf8')) as { sources: string[] }).sources);
  for (const name of maps) rmSync(join(into, name));
  const packages = sources.map((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? '@underpass/');
  return [...new Set(packages)].filter((name) => !name.startsWith('@underpass/')).sort();
}

function manifestOf(version: string) {
  return {
    name: 'underpass',
    version,
    description: summary,
    keywords: ['tunnel', 'localhost', 'webhook', 'https', 'ingress', 'reverse-proxy', 'self-hosted'],
    license,
    homepage: `${projectUrl}#readme`,
    bugs: `${projectUrl}/issues`,
    repository: { type: 'git', url: `git+${projectUrl}.git`, directory: 'client' },
    type: 'module',
    bin: { underpass: 'underpass.mjs' },
    exports: { '.': { types: './underpass.d.ts', default: './dist/library.mjs' } },
    engines: { node: `>=${oldestLibraryNode}` },
    publishConfig: { access: 'public', provenance: true },
  };
}

const [oldestMajor, oldestMinor] = oldestNode.split('.');

const starter = `#!/usr/bin/env node
// Checks the version before an older Node reads what it cannot.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major > ${oldestMajor} || (major === ${oldestMajor} && minor >= ${oldestMinor})) await import('./dist/underpass.mjs');
else {
  process.stderr.write(\`The underpass command needs Node ${oldestMajor}.${oldestMinor} or newer, and this is \${process.version}.\\n\`);
  process.exitCode = 1;
}
`;

/** Our own licence, then those of the packages inside, which ask for it. */
function licencesOf(root: string, packages: readonly string[]): string {
  const texts = packages.map((name) => {
    const folder = join(root, 'node_modules', name);
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined) throw new Error(`${name} is in the package and has no licence file`);
    return `${name}\n${'-'.repeat(name.length)}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  const own = readFileSync(join(root, 'LICENSE'), 'utf8').trim();
  return `${[own, 'This package holds parts of the following packages.', ...texts].join('\n\n')}`;
}
