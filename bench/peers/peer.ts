// The interface of every peer of the benchmark: starts it in front of an origin, and names the processes to measure.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Started, start } from './processes.ts';

/** Where the two sides run: on one machine, or with a wire between them (distance.ts). */
export interface Machines {
  readonly edgeAddress: string;
  readonly clientAddress: string;
  /** The name by which the client reaches the edge. */
  readonly regionHost: string;
  /** Starts a process on the client's machine. */
  readonly startAtClient: typeof start;
}

export const oneMachine: Machines = {
  edgeAddress: '127.0.0.1',
  clientAddress: '127.0.0.1',
  regionHost: 'region.localhost',
  startAtClient: start,
};

export interface Setup extends Machines {
  /** The origin's port on 127.0.0.1 of the client's machine. */
  readonly originPort: number;
  /** The origin ends TLS itself; only peers that pass bytes through meet one. */
  readonly originTls?: boolean;
  /** An empty folder of this peer's run. */
  readonly folder: string;
  /** Host name that visitors request. */
  readonly host: string;
}

export interface Running {
  /** Where visitors connect; 127.0.0.1 if absent. */
  readonly address?: string;
  readonly port: number;
  readonly tls: boolean;
  /** A file with one Cookie value a line, for visitors who must be signed in. */
  readonly cookieFile?: string;
  readonly edgeSide: readonly Started[];
  readonly clientSide: readonly Started[];
  /** Resolves once its processes have given back what their start left behind: memory that is later given back counts as their own. */
  readonly settle?: () => Promise<void>;
}

export interface Peer {
  readonly name: string;
  /** 'https' terminates TLS at the edge, 'tcp' passes bytes on; a column compares peers of the same kind. */
  readonly carries: 'https' | 'tcp';
  /** Binaries that must be on PATH. */
  readonly needs: readonly string[];
  start(setup: Setup): Promise<Running>;
}

export function onPath(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, name)).find(canRun);
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
  /** Both in one file, as haproxy reads them. */
  readonly both: string;
}

/** A P-256 certificate made for this run, so that every peer pays for the same handshake. */
export function makeCertificate(folder: string, host: string, ...more: string[]): Certificate {
  const [certificate, key, both] = ['cert.pem', 'key.pem', 'both.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const subject = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=${[host, ...more].map((name) => `DNS:${name}`).join()}`];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'), { mode: 0o600 });
  return { certificate, key, both };
}
