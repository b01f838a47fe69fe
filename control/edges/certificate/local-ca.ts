// The authority of a laptop: a root for this machine only, made on first start and kept in its home folder.
// Only its owner can read its key: with the key, anyone can impersonate any site to browsers that trust the root.

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { dayMs } from '@underpass/rules/limits.ts';
import type { Authority } from './authority.ts';
import { type CertificateWithKey, createRoot, fingerprintOf, issueLeaf } from './x509.ts';

const rootLifeMs = 3650 * dayMs;
/** Browsers refuse leaves of more than 398 days, Apple's of private roots over 825. */
const leafLifeMs = 90 * dayMs;
/** Clocks of phones differ a little. */
const backDateMs = dayMs;

export interface LocalCa extends Authority {
  readonly certificatePath: string;
  readonly certificatePem: string;
  /** SHA-256 of the root's DER, hex: what clients pin. */
  readonly fingerprint: string;
}

async function readRoot(certificatePath: string, keyPath: string): Promise<CertificateWithKey | undefined> {
  const [certificatePem, privateKeyPem] = await Promise.all([readIfThere(certificatePath), readIfThere(keyPath)]);
  // The key is written first, so a crash leaves no certificate without it.
  if (certificatePem !== undefined && privateKeyPem === undefined) throw new Error(`${keyPath} is missing`);
  return certificatePem === undefined || privateKeyPem === undefined ? undefined : { certificatePem, privateKeyPem };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A crash in the middle leaves the old file. */
async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  await writeFile(`${path}.new`, text, { mode });
  await rename(`${path}.new`, path);
}

async function makeRoot(certificatePath: string, keyPath: string, nowMs: number): Promise<CertificateWithKey> {
  const lifespan = { notBefore: new Date(nowMs - backDateMs), notAfter: new Date(nowMs + rootLifeMs) };
  const root = await createRoot(`Underpass local authority (${hostname().slice(0, 30)})`, lifespan);
  await writeWhole(keyPath, root.privateKeyPem, 0o600);
  await writeWhole(certificatePath, root.certificatePem, 0o644);
  return root;
}

export async function openLocalCa(home: string, clock: () => number): Promise<LocalCa> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  const certificatePath = join(home, 'ca.pem');
  const keyPath = join(home, 'ca-key.pem');
  const root = (await readRoot(certificatePath, keyPath)) ?? (await makeRoot(certificatePath, keyPath, clock()));
  const fingerprint = fingerprintOf(root.certificatePem);
  return {
    id: `local:${fingerprint}`,
    local: true,
    certificatePath,
    certificatePem: root.certificatePem,
    fingerprint,
    canIssue: () => true,
    issue: async ({ name }) => {
      const now = clock();
      const lifespan = { notBefore: new Date(now - backDateMs), notAfter: new Date(now + leafLifeMs) };
      const leaf = await issueLeaf(root, [name], lifespan);
      return { chainPem: leaf.certificatePem + root.certificatePem, privateKeyPem: leaf.privateKeyPem };
    },
  };
}
