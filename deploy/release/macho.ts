// Ad-hoc signatures of macOS programs. The compiler adds its payload to a program that Apple's rules see as signed and then
// changed; a kernel kills such a program, while one whose pages match an ad-hoc signature runs.
// Formats: <mach-o/loader.h> and the code directory of <kern/cs_blobs.h>.
import { createHash } from 'node:crypto';

const magic64 = 0xfeedfacf;
const headerBytes = 32;
const segmentCommand = 0x19;
const signatureCommand = 0x1d;

const superBlobMagic = 0xfade0cc0;
const codeDirectoryMagic = 0xfade0c02;
const codeDirectoryVersion = 0x20400;
const codeDirectoryBytes = 88;
const adHocFlag = 0x2;
const mainBinaryFlag = 1n;
const sha256Type = 2;
const hashBytes = 32;
const pageShift = 12;
const pageBytes = 1 << pageShift;

interface Layout {
  /** Where the signature begins: everything before is signed. */
  readonly signatureAt: number;
  readonly signatureRoom: number;
  readonly textFileBytes: bigint;
}

/** The program with a signature that matches it. `identifier` names it to the system. */
export function signAdHoc(program: Buffer, identifier: string): Buffer {
  const { signatureAt, signatureRoom, textFileBytes } = readLayout(program);
  const blob = superBlob(codeDirectory(program.subarray(0, signatureAt), identifier, textFileBytes));
  if (blob.length > signatureRoom)
    throw new Error(`the signature takes ${blob.length} bytes, there is room for ${signatureRoom}`);
  // The load command keeps its size, so that nothing that is signed changes; the rest of the room is zeros.
  return Buffer.concat([program.subarray(0, signatureAt), blob, Buffer.alloc(signatureRoom - blob.length)]);
}

export function isSignedAdHoc(program: Buffer): boolean {
  const { signatureAt } = readLayout(program);
  const directoryAt = signatureAt + program.readUInt32BE(signatureAt + 16);
  if (program.readUInt32BE(directoryAt) !== codeDirectoryMagic) return false;
  const field = (index: number) => program.readUInt32BE(directoryAt + 4 * index);
  const [hashAt, slots, limit] = [directoryAt + field(4), field(7), field(8)];
  const hashes = pageHashes(program.subarray(0, limit));
  return (
    (field(3) & adHocFlag) !== 0 &&
    hashes.length === slots * hashBytes &&
    hashes.equals(program.subarray(hashAt, hashAt + hashes.length))
  );
}

function readLayout(program: Buffer): Layout {
  if (program.readUInt32LE(0) !== magic64) throw new Error('not a 64-bit program of macOS');
  let layout: { at: number; room: number } | undefined;
  let textFileBytes = 0n;
  for (const { kind, at } of loadCommands(program)) {
    if (kind === signatureCommand) layout = { at: program.readUInt32LE(at + 8), room: program.readUInt32LE(at + 12) };
    if (kind === segmentCommand && program.toString('latin1', at + 8, at + 14) === '__TEXT')
      textFileBytes = program.readBigUInt64LE(at + 48);
  }
  if (layout === undefined || layout.at + layout.room !== program.length) throw new Error('the signature does not end the file');
  return { signatureAt: layout.at, signatureRoom: layout.room, textFileBytes };
}

function loadCommands(program: Buffer): readonly { readonly kind: number; readonly at: number }[] {
  const commands: { kind: number; at: number }[] = [];
  let at = headerBytes;
  for (let left = program.readUInt32LE(16); left > 0; left--) {
    commands.push({ kind: program.readUInt32LE(at), at });
    at += program.readUInt32LE(at + 4);
  }
  return commands;
}

function codeDirectory(code: Buffer, identifier: string, textFileBytes: bigint): Buffer {
  const name = Buffer.from(`${identifier}\0`);
  const hashes = pageHashes(code);
  const head = Buffer.alloc(codeDirectoryBytes);
  const hashAt = codeDirectoryBytes + name.length;
  const fields = [
    codeDirectoryMagic,
    hashAt + hashes.length,
    codeDirectoryVersion,
    adHocFlag,
    hashAt,
    codeDirectoryBytes,
    0,
    hashes.length / hashBytes,
    code.length,
  ];
  for (const [index, value] of fields.entries()) head.writeUInt32BE(value, 4 * index);
  head.set([hashBytes, sha256Type, 0, pageShift], 36);
  head.writeBigUInt64BE(textFileBytes, 72);
  head.writeBigUInt64BE(mainBinaryFlag, 80);
  return Buffer.concat([head, name, hashes]);
}

function pageHashes(code: Buffer): Buffer {
  const hashes: Buffer[] = [];
  for (let at = 0; at < code.length; at += pageBytes) {
    hashes.push(
      createHash('sha256')
        .update(code.subarray(at, at + pageBytes))
        .digest(),
    );
  }
  return Buffer.concat(hashes);
}

function superBlob(directory: Buffer): Buffer {
  const head = Buffer.alloc(20);
  for (const [index, value] of [superBlobMagic, 20 + directory.length, 1, 0, 20].entries()) head.writeUInt32BE(value, 4 * index);
  return Buffer.concat([head, directory]);
}
