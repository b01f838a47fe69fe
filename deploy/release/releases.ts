// Compiles the command line for every platform and packs it for package managers, with sums and a signature:
// node deploy/release/build.ts [--only PLATFORM] [--out FOLDER] [--from URL] [--programs-only]
// Control serves the result at /api/releases and /releases/<version>/.
import { execFileSync } from 'node:child_process';
import type { KeyObject } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectUrl } from '../../rules/text/project-url.ts';
import { parseOptions, refuse } from '../command-line.ts';
import { isSignedAdHoc, signAdHoc } from './macho.ts';
import { packRelease } from './package-forms.ts';
import { fetchRuntime, hostRuntime, type Runtime, runtimes } from './runtime.ts';
import { publicHalf, publicPem, releaseKey, renderSums, type SummedFile, sha256Of, signSums } from './sign.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

interface BuildOptions {
  readonly platforms: readonly Runtime[];
  /** The build makes a folder named after the version in it. */
  readonly out: string;
  readonly version: string;
  /** Where packages find the programs; null: no packages. */
  readonly from: string | null;
  readonly cache: string;
}

interface BuiltFile {
  readonly name: string;
  readonly platform: string;
  readonly size: number;
  readonly sha256: string;
}

function buildRelease(options: BuildOptions): readonly BuiltFile[] {
  // The program contains the inspector's page.
  if (!existsSync(join(root, 'client', 'inspect', 'page-files.mjs'))) refuse("the inspector's page is not built: npm run build");
  // A server offers every folder with the name of a version, so this one gets its name when it is complete.
  const folder = join(options.out, `${options.version}.new`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const key = releaseKey(process.env);
  const compiler = fetchRuntime(hostRuntime(), options.cache);
  const files = options.platforms.map((runtime) => compile(compiler, runtime, folder, publicHalf(key), options));
  writeSums(folder, files, key);
  // Read by control/site/release-key.ts.
  writeFileSync(join(options.out, 'release-key.pem'), publicPem(key));
  writeFileSync(join(folder, 'manifest.json'), `${JSON.stringify({ version: options.version, files }, null, 2)}\n`);
  if (options.from !== null) {
    packRelease({ version: options.version, from: options.from, programs: files, folder }, root, compiler);
    writeSums(join(folder, 'packages'), summedBelow(join(folder, 'packages')), key);
  }
  rmSync(join(options.out, options.version), { recursive: true, force: true });
  renameSync(folder, join(options.out, options.version));
  return files;
}

function writeSums(folder: string, files: readonly SummedFile[], key: KeyObject): void {
  const sums = renderSums(files);
  writeFileSync(join(folder, 'SHA256SUMS'), sums);
  writeFileSync(join(folder, 'SHA256SUMS.sig'), signSums(sums, key));
}

function summedBelow(folder: string): readonly SummedFile[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return names
    .filter((name) => statSync(join(folder, name)).isFile())
    .map((name) => ({ name, sha256: sha256Of(join(folder, name)) }));
}

function compile(
  compiler: string,
  runtime: Runtime,
  folder: string,
  publicKey: string,
  { version, cache }: BuildOptions,
): BuiltFile {
  const name = `underpass-${version}-${runtime.platform}${runtime.platform.startsWith('win') ? '.exe' : ''}`;
  const path = join(folder, name);
  const args = [
    'build',
    '--compile',
    `--target=${runtime.target}`,
    `--compile-executable-path=${fetchRuntime(runtime, cache)}`,
    // A start takes 27 ms of CPU instead of 72. Only for this system, where tests run the result: Bun does not promise the format for others.
    ...(runtime === hostRuntime() ? ['--bytecode', '--format=esm'] : []),
    // A command loads only its own files. In one file the runtime keeps the bytecode of all: 2 MB more for an idle client.
    '--splitting',
    // Otherwise the runtime takes settings from the current folder, and runs the code that a bunfig.toml there preloads.
    '--no-compile-autoload-bunfig',
    '--no-compile-autoload-dotenv',
    '--minify-syntax',
    '--minify-whitespace',
    '--define',
    `UNDERPASS_BUILD_PLATFORM=${JSON.stringify(runtime.platform)}`,
    '--define',
    `UNDERPASS_BUILD_RELEASE_KEY=${JSON.stringify(publicKey)}`,
    `--outfile=${path}`,
    join(root, 'client', 'underpass.ts'),
  ];
  execFileSync(compiler, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], timeout: 300_000 });
  if (runtime.platform.startsWith('darwin')) mendSignature(path);
  chmodSync(path, 0o755);
  return { name, platform: runtime.platform, size: statSync(path).size, sha256: sha256Of(path) };
}

/** The compiler renews the signature for arm64 only. */
function mendSignature(path: string): void {
  const program = readFileSync(path);
  if (!isSignedAdHoc(program)) writeFileSync(path, signAdHoc(program, 'underpass'));
}

function optionsFrom(argv: readonly string[]): BuildOptions {
  const { values } = parseOptions({
    args: [...argv],
    options: {
      only: { type: 'string', multiple: true },
      out: { type: 'string' },
      from: { type: 'string' },
      'programs-only': { type: 'boolean' },
    },
  });
  const { version } = JSON.parse(readFileSync(join(root, 'client', 'package.json'), 'utf8')) as { version: string };
  const unknown = values.only?.find((name) => !runtimes.some(({ platform }) => platform === name));
  if (unknown !== undefined) refuse(`unknown platform ${unknown}; known: ${runtimes.map(({ platform }) => platform).join(', ')}`);
  // It becomes part of texts in four languages, so it holds no character that one of them reads.
  if (values.from !== undefined && !/^https?:\/\/[\w.:/~%-]+$/.test(values.from))
    refuse(`--from is not the URL of a folder: ${values.from}`);
  return {
    platforms: runtimes.filter(({ platform }) => values.only?.includes(platform) ?? true),
    out: resolve(values.out ?? join(root, 'client', 'dist', 'releases')),
    version,
    from: values['programs-only'] ? null : (values.from ?? `${projectUrl}/releases/download/v${version}`).replace(/\/$/, ''),
    cache: join(root, '.artifacts', 'runtimes'),
  };
}

const options = optionsFrom(process.argv.slice(2));
for (const { name, size, sha256 } of buildRelease(options)) console.log(`${sha256}  ${String(size).padStart(10)}  ${name}`);
console.log(`in ${join(options.out, options.version)}`);
