// Parses the command lines of the build commands. A mistake prints one line and no stack trace.
import { type ParseArgsConfig, parseArgs } from 'node:util';

export function refuse(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

export function parseOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    return refuse((error as Error).message);
  }
}
