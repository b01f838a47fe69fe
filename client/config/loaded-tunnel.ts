// A tunnel's configuration with the token and the CA files that it names. Their contents count when a reload compares tunnels.
import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { OnDialled, OpenInside } from '../carry/api.ts';
import { readNamed } from '../process/bounded-file.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { Output } from '../terminal/output.ts';
import { readToken } from './token.ts';
import type { TunnelConfig } from './tunnel-config.ts';

export interface LoadedTunnel {
  readonly config: TunnelConfig;
  readonly token: string;
  readonly caPem?: string;
  readonly upstreamCaPem?: string;
  /** The key and certificate of a private tunnel, PEM. */
  readonly reachKey?: string;
  /** The upstream is a part of this process, as in `underpass ssh serve` and the library's `listen`. */
  readonly inside?: InsideUpstream;
}

export interface InsideUpstream {
  readonly onDialled?: OnDialled;
  readonly openInside?: OpenInside;
  /** What the live status shows in place of its address. */
  readonly lines: readonly string[];
}

export async function loadTunnel(io: Io, config: TunnelConfig, output: Output): Promise<LoadedTunnel> {
  const token = await tokenOf(io, config, output);
  const caPem = config.caFile === undefined ? {} : { caPem: await readPem(config.caFile) };
  const upstreamCaPem = config.upstreamCaFile === undefined ? {} : { upstreamCaPem: await readPem(config.upstreamCaFile) };
  return { config, token, ...caPem, ...upstreamCaPem };
}

async function tokenOf(io: Io, { name, token }: TunnelConfig, output: Output): Promise<string> {
  if (token.kind === 'value') return token.token;
  try {
    const env = token.kind === 'env' ? { UNDERPASS_TOKEN: io.env[token.name] } : io.env;
    return await readToken({ ...io, env }, token.kind === 'file' ? token.path : undefined, output);
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    const [place, fix] =
      token.kind === 'env'
        ? [`environment variable ${token.name}`, `Set ${token.name} to the token, or name its file with token-file.`]
        : [error.message, error.fix];
    throw new ClientError(error.code, `tunnel ${name}: ${place}`, { fix, cause: error });
  }
}

/** Reads the certificates of a `--ca`, if there is one. */
export async function readCa(io: Io, file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readPem(resolve(io.cwd, file));
}

/** The CA bundle of a whole system is some 250 KB. */
const maxPemBytes = 4 * 1024 * 1024;

async function readPem(path: string): Promise<string> {
  const read = await readNamed(path, maxPemBytes, 'ca-file-invalid');
  // Some runtimes read a byte order mark as part of the first line.
  const pem = read.replace(/^\ufeff/, '');
  try {
    // Checked here, because with an unreadable file Node would trust no certificate, and the compiled program would fail for each visitor.
    new X509Certificate(pem);
  } catch (cause) {
    throw new ClientError('ca-file-invalid', path, { cause });
  }
  return pem;
}
