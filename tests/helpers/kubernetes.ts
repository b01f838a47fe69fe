// Checks manifests as Kubernetes would: values by its published schemas, unknown fields by compiling against their types. The
// packages kubernetes-models and @kubernetes-models/prometheus-operator have both, made from the OpenAPI document of Kubernetes
// and from the definitions of the Prometheus operator.
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

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** Reads YAML as Kubernetes does: version 1.1, duplicate keys refused. Throws on any error. */
export function parseManifests(text: string): KubernetesObject[] {
  const documents = [parseAllDocuments(text, { version: '1.1', uniqueKeys: true, strict: true })].flat();
  const errors = documents.flatMap((document) => document.errors);
  if (errors.length > 0) throw new Error(errors.map((error) => error.message).join('\n'));
  return documents.map((document) => document.toJS()).filter((object) => object !== null) as KubernetesObject[];
}

/** Complaints about values and unknown fields; empty if a cluster would accept every object. Throws for an unknown kind. */
export async function kubernetesComplaints(objects: readonly KubernetesObject[]): Promise<string[]> {
  const values = await Promise.all(objects.map(valueComplaints));
  return [...values.flat(), ...unknownFields(objects)];
}

function schemaOf({ apiVersion, kind }: KubernetesObject): string {
  const isOfPrometheus = apiVersion.startsWith('monitoring.coreos.com/');
  return `${isOfPrometheus ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models'}/${apiVersion}/${kind}`;
}

async function valueComplaints(object: KubernetesObject): Promise<string[]> {
  const { [object.kind]: Model } = await import(schemaOf(object));
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
  const type = `import('${schemaOf(object)}').I${object.kind}`;
  return `export const o${index}: ${type} = ${JSON.stringify(object)};`;
}
