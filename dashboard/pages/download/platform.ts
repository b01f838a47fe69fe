// The platforms that the command line client is built for, and the commands that install it on each. Pure.
import type { ReleaseFile } from '@underpass/rules/entity/resource.ts';

type SystemName = 'linux' | 'macos' | 'windows';

/** spec 2, Download page: the installer tool first, then the CLI with it. */
export interface InstallSteps {
  readonly getInstaller: string;
  readonly fetchCli: string;
}

export interface System {
  readonly name: SystemName;
  readonly label: string;
  readonly steps: (origin: string) => InstallSteps;
  /** Prints the checksum of a manually downloaded file. */
  readonly checksum: (file: string) => string;
  /** Moves that file into the PATH. */
  readonly place: (file: string) => string;
  readonly isOf: (platform: string) => boolean;
}

const installScript = (origin: string): InstallSteps => ({
  getInstaller: `curl -fsSLO ${origin}/install.sh`,
  fetchCli: 'sh install.sh',
});
const placeOnUnix = (file: string) => `sudo install -m 755 ${file} /usr/local/bin/underpass`;

export const systems: readonly System[] = [
  {
    name: 'linux',
    label: 'Linux',
    steps: installScript,
    checksum: (file) => `sha256sum ${file}`,
    place: placeOnUnix,
    isOf: (platform) => platform.startsWith('linux-'),
  },
  {
    name: 'macos',
    label: 'macOS',
    steps: installScript,
    checksum: (file) => `shasum -a 256 ${file}`,
    place: placeOnUnix,
    isOf: (platform) => platform.startsWith('darwin-'),
  },
  {
    name: 'windows',
    label: 'Windows',
    steps: (origin) => ({
      getInstaller: `Invoke-WebRequest ${origin}/install.ps1 -OutFile install.ps1`,
      fetchCli: 'powershell -ExecutionPolicy Bypass -File install.ps1',
    }),
    checksum: (file) => `Get-FileHash ${file} -Algorithm SHA256`,
    place: (file) => `Move-Item ${file} "$env:LOCALAPPDATA\\Microsoft\\WindowsApps\\underpass.exe"`,
    isOf: (platform) => platform.startsWith('win-') || platform.startsWith('windows-'),
  },
];

/** Steps in a clone of the source when there is no release: npm is the installer tool, with the same commands on every system. */
export const cloneSteps: InstallSteps = { getInstaller: 'npm --version', fetchCli: 'npm install' };

const platformLabels: Readonly<Record<string, string>> = {
  'linux-x64': 'Linux, Intel and AMD',
  'linux-arm64': 'Linux, ARM',
  'darwin-arm64': 'macOS, Apple silicon',
  'darwin-x64': 'macOS, Intel',
  'win-x64': 'Windows, Intel and AMD',
};

export const platformLabel = (platform: string): string => platformLabels[platform] ?? platform;

/** The reader's system, from the browser's User-Agent; Linux if that is unknown. */
export function guessSystem(userAgent: string): SystemName {
  if (/Windows/.test(userAgent)) return 'windows';
  return /Mac OS X|Macintosh/.test(userAgent) ? 'macos' : 'linux';
}

/** The most common platforms first; platforms without a label last. */
export function inOrder(files: readonly ReleaseFile[]): readonly ReleaseFile[] {
  const order = Object.keys(platformLabels);
  const place = ({ platform }: ReleaseFile) => (order.includes(platform) ? order.indexOf(platform) : order.length);
  return files.toSorted((a, b) => place(a) - place(b));
}

/** The file that most users of the system need. */
export const fileOf = (system: System, files: readonly ReleaseFile[]): ReleaseFile | undefined =>
  inOrder(files).find(({ platform }) => system.isOf(platform));
