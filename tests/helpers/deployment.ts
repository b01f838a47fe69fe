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

export interface ComposeService {
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly secrets: readonly string[];
  readonly tmpfs: readonly string[];
  readonly user: string;
  readonly read_only: boolean;
  readonly healthcheck?: { readonly test: readonly string[] };
}

/** The services of a compose file with the values of env.example. `change` sees the text with these values. */
export function composeServices(file: string, change = (text: string) => text): Readonly<Record<string, ComposeService>> {
  const folder = join(root, 'deploy/compose');
  const example = new Map(
    [...readFileSync(join(folder, 'env.example'), 'utf8').matchAll(/^(\w+)="?([^"\n]*)"?$/gm)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );
  const fill = (value: string) => value.replace(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, name, other) => example.get(name) ?? other);
  const text = change(fill(readFileSync(join(folder, file), 'utf8')));
  return (parse(text, { merge: true }) as { services: Record<string, ComposeService> }).services;
}

/** The compose file's server with the values of env.example. */
export function composeService(): { service: ComposeService; env: Readonly<Record<string, string>> } {
  const service = composeServices('compose.yaml').underpass as ComposeService;
  return { service, env: service.environment };
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
