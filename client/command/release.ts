// Lists the releases of a server and verifies a download: the signature covers SHA256SUMS, whose file names hold the version.

import { createHash, createPublicKey, verify } from 'node:crypto';
import { urlOf } from '@underpass/rules/api/call.ts';
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import type { Release } from '@underpass/rules/entity/resource.ts';
import { compareVersions } from '@underpass/rules/text/version.ts';
import { reasonOf, request, unreachable } from '../account/api.ts';
import { gather } from '../process/bounded-file.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';

/** Some 30 files of 100 bytes each. */
const maxSumsBytes = 64 * 1024;
/** The largest program is 120 MB. */
const maxProgramBytes = 512 * 1024 * 1024;
const downloadTimeoutMs = 600_000;

export async function newestRelease(io: Io, origin: string): Promise<Release | undefined> {
  const releases = await listReleases(io, origin);
  return releases.toSorted((a, b) => compareVersions(b.version, a.version))[0];
}

export async function listReleases(io: Io, origin: string): Promise<readonly Release[]> {
  const response = await request(io, `${origin}${urlOf(publicCalls.listReleases, {})}`, {
    method: 'GET',
    headers: { accept: 'application/json' },
  });
  if (!response.ok) throw new ClientError('release-missing', `${origin} offers no releases`);
  const value = (await response.json().catch(() => undefined)) as readonly Release[] | undefined;
  const isList = Array.isArray(value) && value.every(({ version, files }) => typeof version === 'string' && Array.isArray(files));
  if (!isList) throw new ClientError('server-unknown', `${origin}${urlOf(publicCalls.listReleases, {})}`);
  return value;
}

/** Returns the bytes of the program. Throws if the signature or the checksum does not match. */
export async function downloadProgram(io: Io, origin: string, name: string, version: string, publicKey: string): Promise<Buffer> {
  const folder = `${origin}/releases/${encodeURIComponent(version)}`;
  const sums = await download(io, `${folder}/SHA256SUMS`, maxSumsBytes);
  const signature = await download(io, `${folder}/SHA256SUMS.sig`, maxSumsBytes);
  if (!isSigned(sums, signature.toString('utf8').trim(), publicKey)) {
    throw new ClientError('release-untrusted', `${folder}/SHA256SUMS is not signed with the key that this program trusts`);
  }
  const wanted = sumOf(sums.toString('utf8'), name);
  if (wanted === undefined) throw new ClientError('release-missing', `${name} is not among the signed files`);
  const program = await download(io, `${folder}/${encodeURIComponent(name)}`, maxProgramBytes);
  const actual = createHash('sha256').update(program).digest('hex');
  if (actual !== wanted)
    throw new ClientError('release-untrusted', `${name} has SHA-256 ${actual}, the signed list says ${wanted}`);
  return program;
}

function isSigned(message: Buffer, signature: string, publicKey: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return verify(null, message, key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

/** `<64 hex>  <name>` lines, as sha256sum writes them. */
function sumOf(sums: string, name: string): string | undefined {
  const lines = sums.split('\n').map((line) => /^([0-9a-f]{64}) [ *](.+)$/.exec(line));
  return lines.find((match) => match?.[2] === name)?.[1];
}

async function download(io: Io, url: string, maxBytes: number): Promise<Buffer> {
  try {
    const response = await io.fetch(url, { redirect: 'error', signal: AbortSignal.timeout(downloadTimeoutMs) });
    if (!response.ok) throw new ClientError('release-missing', `${url} answers ${response.status}`);
    const bytes = await gather(response.body ?? [], maxBytes);
    if (bytes === null) throw new ClientError('release-untrusted', `${url} is longer than ${maxBytes} bytes`);
    return bytes;
  } catch (cause) {
    if (cause instanceof ClientError) throw cause;
    throw await unreachable(io, url, `${url} (${reasonOf(cause)})`, cause);
  }
}
