// The runtimes that the command line is compiled into, one for each platform: pinned packages of the registry, cached in a folder
// that git ignores.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export interface Runtime {
  /** The name for `underpass update` and the download page. */
  readonly platform: string;
  /** The name for the compiler. */
  readonly target: string;
  readonly packageName: string;
  /** The hash of the package's archive, as the registry states it for this version. */
  readonly integrity: string;
}

const runtimeVersion = '1.4.5';

/** linux-x64 is the baseline build: it runs on processors without AVX2 too. */
export const runtimes: readonly Runtime[] = [
  {
    platform: 'linux-x64',
    target: 'bun-linux-x64-baseline',
    packageName: '@oven/bun-linux-x64-baseline',
    integrity: 'sha512-s8yMwYcFnnrA178gji0gZbkE2WVDej/Ti1x770oPfihxyRxSMNhGhiAQNXV53aDeraZxksdvKV/RAdQBCd0qPA==',
  },
  {
    platform: 'linux-arm64',
    target: 'bun-linux-arm64',
    packageName: '@oven/bun-linux-aarch64',
    integrity: 'sha512-4BXmsSKnjOrlGWqZV4x/oWa7AVoR+B6lCXddMzOAXBIm3t50eslg9wb66gmtW1AamEQ1l1CDvmmruysEhqOWMg==',
  },
  {
    platform: 'darwin-arm64',
    target: 'bun-darwin-arm64',
    packageName: '@oven/bun-darwin-aarch64',
    integrity: 'sha512-4MIFXHmctH2EhAxLXm2/qxNtv17dFtLJylvaOCsrgq6KSqHTs6eW5YSrJjRbJxYUJaR901fsN8JfZOa+CsWpWQ==',
  },
  {
    platform: 'darwin-x64',
    target: 'bun-darwin-x64',
    packageName: '@oven/bun-darwin-x64',
    integrity: 'sha512-qkLPMGHZM9NI6CeHTWwVezzmlo6cC4Ta7yUAjYIWXS366qQcOlcp75t2uZyiuVRBMPS0h9qE0tCcvCHGaFqjJg==',
  },
  {
    platform: 'win-x64',
    target: 'bun-windows-x64',
    packageName: '@oven/bun-windows-x64',
    integrity: 'sha512-FNvply651vcE/GHgNWz6mZvhmkwBuu8Hw54oNzA+CQog+HW+542rXQmZqNHRkFxazD9L3xi+iTtvO3engAgJfw==',
  },
];

/** The runtime of this machine, which also compiles. */
export function hostRuntime(): Runtime {
  const name = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const found = runtimes.find(({ platform }) => platform === name);
  if (found === undefined) throw new Error(`no runtime to compile with on ${name}`);
  return found;
}

/** Path of the runtime's program; npm fetches it if the cache lacks it. Parallel builds may share a cache. */
export function fetchRuntime(runtime: Runtime, cache: string): string {
  return fetchProgram({ ...runtime, version: runtimeVersion }, runtime.platform === 'win-x64' ? 'bun.exe' : 'bun', cache);
}

export interface PinnedPackage {
  readonly packageName: string;
  readonly version: string;
  readonly integrity: string;
}

/** Path of the program `bin/NAME` of a package. */
export function fetchProgram(pinned: PinnedPackage, name: string, cache: string): string {
  const folder = join(cache, `${pinned.packageName.replace('@oven/', '')}-${pinned.version}`);
  const program = join(folder, 'package', 'bin', name);
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(`${folder}.`);
  try {
    const archive = fetchArchive(pinned, draft);
    execFileSync('tar', ['-xzf', archive, '-C', draft]);
    rmSync(archive);
    moveInto(folder, draft, program);
    return program;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** The rename fails if another build was first; its copy has the same integrity. */
function moveInto(folder: string, draft: string, program: string): void {
  try {
    renameSync(draft, folder);
  } catch (error) {
    if (!existsSync(program)) throw error;
  }
}

function fetchArchive({ packageName, version, integrity }: PinnedPackage, folder: string): string {
  const args = ['pack', `${packageName}@${version}`, '--json', '--pack-destination', folder, '--ignore-scripts'];
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const shell = process.platform === 'win32';
  const output = execFileSync(npm, args, {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 600_000,
    shell,
  });
  const [packed] = JSON.parse(output) as { filename: string }[];
  const archive = join(folder, (packed?.filename ?? '').replace('@oven/', 'oven-'));
  const actual = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (actual === integrity) return archive;
  throw new Error(`${packageName}@${version} has integrity ${actual}, pinned is ${integrity}`);
}
