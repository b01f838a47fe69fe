// Checks manifests as Kubernetes would: values by its schemas, unknown fields by compiling against its types.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  readonly [field: string]: unknown;
}

/** Kinds that Kubernetes operators define; the schemas of Kubernetes do not know them. */
const foreignKinds = new Set(['PodMonitor']);

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** Reads YAML as Kubernetes does: version 1.1, duplicate keys refused. Throws on any error. */
export function parseManifests(text: string): KubernetesObject[] {
  const documents = [parseAllDocuments(text, { version: '1.1', uniqueKeys: true, strict: true })].flat();
  const errors = documents.flatMap((document) => document.errors);
  if (errors.length > 0) throw new Error(errors.map((error) => error.message).join('\n'));
  return documents.map((document) => document.toJS()).filter((object) => object !== null) as KubernetesObject[];
}

/** Complaints about values and unknown fields; empty if a cluster would accept every object. */
export async function kubernetesComplaints(objects: readonly KubernetesObject[]): Promise<string[]> {
  const known = objects.filter(({ kind }) => !foreignKinds.has(kind));
  const values = await Promise.all(known.map(valueComplaints));
  return [...values.flat(), ...unknownFields(known)];
}

async function valueComplaints(object: KubernetesObject): Promise<string[]> {
  const { [object.kind]: Model } = await import(`kubernetes-models/${object.apiVersion}/${object.kind}`);
  try {
    new Model(object).validate();
    return [];
  } catch (error) {
    return [`${object.kind} ${object.metadata.name}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function unknownFields(objects: readonly KubernetesObject[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-manifest-'));
  try {
    symlinkSync(modules, join(folder, 'node_modules'));
    writeFileSync(join(folder, 'manifest.ts'), objects.map(typedObject).join('\n'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', '', 'manifest.ts'];
    const { stdout } = spawnSync(process.execPath, [join(modules, 'typescript/bin/tsc'), ...options], {
      cwd: folder,
      encoding: 'utf8',
    });
    return stdout.split('\n').filter((line) => line.includes('error'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function typedObject(object: KubernetesObject, index: number): string {
  const type = `import('kubernetes-models/${object.apiVersion}/${object.kind}').I${object.kind}`;
  return `export const o${index}: ${type} = ${JSON.stringify(object)};`;
}
