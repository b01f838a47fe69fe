// The version before this one, for tests that run both side by side: its files from the history of this repository, with the
// packages that are installed here. tests/deploy/previous-version.json names its commit.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import previous from '../deploy/previous-version.json' with { type: 'json' };

const root = join(import.meta.dirname, '../..');

/** What the programs consist of. `tools` has what their first lines need. */
const paths = ['package.json', 'tools', 'rules', 'runtime', 'wire', 'control', 'edge', 'client', 'server'];

const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: root, encoding: 'utf8' });

/** The `skip` of node:test: false if this copy has the commit, or should have it because its history is complete. */
export function skipWithoutPrevious(): string | false {
  const { commit } = previous;
  if (git('cat-file', '-e', `${commit}^{commit}`).status === 0) return false;
  const { status, stdout } = git('rev-parse', '--is-shallow-repository', '--show-prefix');
  const [shallow, prefix] = stdout.split('\n');
  if (status !== 0 || prefix !== '') return `needs commit ${commit}, and this copy has no history: clone the repository with git`;
  if (shallow === 'true') return `needs commit ${commit}, and this clone is shallow: git fetch --unshallow`;
  return false;
}

let laid: string | undefined;

/** The folder with the previous version. One for all tests of this process, and removed when that ends. */
export function previousVersion(): string {
  laid ??= layPrevious();
  return laid;
}

function layPrevious(): string {
  const tree = mkdtempSync(join(tmpdir(), 'underpass-previous-'));
  process.once('exit', () => rmSync(tree, { recursive: true, force: true }));
  const archive = join(tree, 'files.tar');
  const there = git('ls-tree', '--name-only', previous.commit).stdout.split('\n');
  const held = paths.filter((path) => there.includes(path));
  must('git', ['archive', '--output', archive, previous.commit, ...held], root);
  must('tar', ['-xf', archive], tree);
  const workspaces = held.filter((path) => existsSync(join(tree, path, 'tsconfig.json')));
  linkPackages(tree, workspaces);
  for (const name of workspaces) expectPackages(tree, name);
  return tree;
}

function must(program: string, args: readonly string[], cwd: string): void {
  const { status, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the previous version: ${program} ${args[0]}: ${error?.message ?? stderr}`);
}

/** Installed packages from here, but its own workspaces. */
function linkPackages(tree: string, workspaces: readonly string[]): void {
  mkdirSync(join(tree, 'node_modules/@underpass'), { recursive: true });
  for (const name of workspaces) symlinkSync(join(tree, name), join(tree, 'node_modules/@underpass', name));
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@underpass') symlinkSync(join(root, 'node_modules', name), join(tree, 'node_modules', name));
  }
  for (const name of workspaces) {
    const own = join(root, name, 'node_modules');
    if (existsSync(own)) symlinkSync(own, join(tree, name, 'node_modules'));
  }
}

function expectPackages(tree: string, workspace: string): void {
  const { dependencies = {} } = JSON.parse(readFileSync(join(tree, workspace, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) {
    if ([tree, join(tree, workspace)].some((folder) => existsSync(join(folder, 'node_modules', name)))) continue;
    throw new Error(`the previous version needs ${name}: keep it in tests/package.json until the next release`);
  }
}
