// Certificates that an operator gives as files: NAME.crt (the chain) beside NAME.key, read again when they change.
// A pair that cannot be read, does not match or has expired is logged and left out; the others still serve.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import type { Logger } from 'pino';

/** More than anyone keeps by hand. */
const maxPairs = 1_000;
/** Tools write the two files one after the other: wait for the second. */
const settleMs = 300;

export interface GivenFiles {
  readonly certificates: () => readonly FeedCertificate[];
  readonly read: () => Promise<void>;
  /** Calls back after each change of the folder has been read. */
  readonly watch: (onChange: () => void) => void;
  readonly close: () => void;
}

/** Host names of a certificate; a wildcard counts as one. */
export function hostsOf(certificate: X509Certificate): readonly string[] {
  const names = (certificate.subjectAltName ?? '')
    .split(', ')
    .flatMap((part) => (part.startsWith('DNS:') ? [part.slice(4)] : []));
  return names.map((name) => name.toLowerCase()).filter((name) => /^(\*\.)?[a-z0-9.-]+$/.test(name));
}

async function readPair(folder: string, name: string, nowMs: number): Promise<FeedCertificate> {
  const certificatePem = await readFile(join(folder, `${name}.crt`), 'utf8');
  const privateKeyPem = await readFile(join(folder, `${name}.key`), 'utf8');
  const leaf = new X509Certificate(certificatePem);
  const hosts = hostsOf(leaf);
  const notAfterMs = leaf.validToDate.getTime();
  if (!leaf.checkPrivateKey(createPrivateKey(privateKeyPem))) throw new Error('the key does not belong to the certificate');
  if (hosts.length === 0) throw new Error('the certificate names no host');
  if (notAfterMs <= nowMs) throw new Error(`the certificate expired on ${leaf.validTo}`);
  return {
    id: `file-${leaf.fingerprint256.replaceAll(':', '').toLowerCase()}`,
    hosts,
    certificatePem,
    privateKeyPem,
    notAfterMs,
  };
}

export function createGivenFiles(folder: string, clock: () => number, log: Logger): GivenFiles {
  let certificates: readonly FeedCertificate[] = [];
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;

  const readOne = async (name: string): Promise<readonly FeedCertificate[]> => {
    try {
      return [await readPair(folder, name, clock())];
    } catch (error) {
      log.warn({ name, err: error }, 'certificates: a given pair is left out');
      return [];
    }
  };

  const read = async (): Promise<void> => {
    const files = await readdir(folder);
    const names = files.filter((file) => file.endsWith('.crt')).map((file) => basename(file, '.crt'));
    certificates = (await Promise.all(names.sort().slice(0, maxPairs).map(readOne))).flat();
  };

  return {
    certificates: () => certificates,
    read,
    watch: (onChange) => {
      const reread = () => read().then(onChange, (error) => log.warn({ err: error }, 'certificates: the folder cannot be read'));
      watcher = watch(folder, () => {
        clearTimeout(timer);
        timer = setTimeout(reread, settleMs);
      });
    },
    close: () => {
      clearTimeout(timer);
      watcher?.close();
    },
  };
}
