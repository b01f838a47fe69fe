// gRPC's own interop client and server, built with Go once for each version of their source.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type ProcessOf, startProgram } from './process.ts';
import { requireTool } from './tool.ts';

const source = join(import.meta.dirname, '../e2e/grpc-peers');
const buildTimeoutMs = 300_000;

/** Path of the program. */
export function buildGrpcPeers(): string {
  const texts = ['go.mod', 'go.sum', 'main.go'].map((name) => readFileSync(join(source, name), 'utf8'));
  const digest = createHash('sha256').update(texts.join('\0')).digest('hex').slice(0, 12);
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'underpass');
  const path = join(folder, `grpc-peers-${digest}`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  execFileSync(requireTool('go'), ['build', '-o', unfinished, '.'], { cwd: source, timeout: buildTimeoutMs });
  renameSync(unfinished, path);
  return path;
}

export interface GrpcServer {
  readonly process: ProcessOf;
  readonly port: number;
}

export async function startGrpcServer(t: TestContext, program: string, flags: readonly string[] = []): Promise<GrpcServer> {
  const process = startProgram(t, program, [...flags, 'server']);
  const [, port] = await process.seen(/^(\d+)$/m);
  return { process, port: Number(port) };
}
