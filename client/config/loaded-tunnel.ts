// A plan with everything read that it names: token and CA files. What a file holds is part of what "unchanged" means.
import { X509Certificate } from 'node:crypto';
import { readBounded } from '../process/bounded-file.ts';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { Output } from '../terminal/output.ts';
import { readToken } from './token.ts';
import type { TunnelConfig } from './tunnel-config.ts';

export interface LoadedTunnel {
  readonly plan: TunnelConfig;
  readonly token: string;
  readonly caPem?: string;
  readonly upstreamCaPem?: string;
}

export async function loadTunnel(io: Io, plan: TunnelConfig, output: Output): Promise<LoadedTunnel> {
  const token = await tokenOf(io, plan, output);
  const caPem = plan.caFile === undefined ? {} : { caPem: await readPem(plan.caFile) };
  const upstreamCaPem = plan.upstreamCaFile === undefined ? {} : { upstreamCaPem: await readPem(plan.upstreamCaFile) };
  return { plan, token, ...caPem, ...upstreamCaPem };
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

/** The bundle of a whole system is some 250 KB. */
const maxPemBytes = 4 * 1024 * 1024;

async function readPem(path: string): Promise<string> {
  const read = readBounded(path, maxPemBytes).catch((cause) => {
    throw new ClientError('ca-file-invalid', `${path} (${fileReason(cause)})`, { cause });
  });
  // A byte order mark is a line's beginning to some runtimes.
  const pem = (await read).replace(/^\ufeff/, '');
  try {
    // Node would trust nobody by a file that it cannot read, the compiled program would fail with each visitor.
    new X509Certificate(pem);
  } catch (cause) {
    throw new ClientError('ca-file-invalid', path, { cause });
  }
  return pem;
}
