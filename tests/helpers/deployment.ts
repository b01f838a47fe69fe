// What the compose file and the chart start: commands, environments and mounts, for tests of the image.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { parseManifests } from './kubernetes.ts';
import { requireTool } from './tool.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Service {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly secrets: readonly string[];
  readonly tmpfs: readonly string[];
  readonly user: string;
  readonly read_only: boolean;
}

/** The compose file's server with the values of env.example. */
export function composeService(): { service: Service; env: Readonly<Record<string, string>> } {
  const folder = join(root, 'deploy/compose');
  const example = new Map(
    [...readFileSync(join(folder, 'env.example'), 'utf8').matchAll(/^(\w+)="?([^"\n]*)"?$/gm)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );
  const text = readFileSync(join(folder, 'compose.yaml'), 'utf8');
  const service = (parse(text) as { services: { underpass: Service } }).services.underpass;
  const fill = (value: string) => value.replace(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, name, other) => example.get(name) ?? other);
  return { service, env: Object.fromEntries(Object.entries(service.environment).map(([name, value]) => [name, fill(value)])) };
}

export interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

/** The containers of the chart with the values of the docs, by name. */
export function chartContainers(): ReadonlyMap<string, Container> {
  const [, values = ''] =
    /```yaml file=values\.yaml\n([\s\S]*?)```/.exec(readFileSync(join(root, 'docs/operations.md'), 'utf8')) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'underpass-values-'));
  try {
    const file = join(folder, 'values.yaml');
    writeFileSync(file, values);
    const args = ['template', 'underpass', join(root, 'deploy/helm/underpass'), '-f', file, '--kube-version', '1.31.0'];
    const objects = parseManifests(execFileSync(requireTool('helm'), args, { encoding: 'utf8' })) as readonly Workload[];
    const containers = objects.flatMap(({ spec }) => spec?.template?.spec?.containers ?? []);
    return new Map(containers.map((each) => [each.name, each]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Workload {
  readonly spec?: { readonly template?: { readonly spec?: { readonly containers?: readonly Container[] } } };
}
