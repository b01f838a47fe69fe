// import: writes underpass.yaml from the file of another program, and says what has no counterpart. It asks no server.

import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { configFileName, maxConfigBytes, parseConfig } from '../config/config-file.ts';
import {
  commandsFor,
  elsewhereOf,
  type Imported,
  importFile,
  type PeerName,
  peerNames,
  peers,
  renderImported,
} from '../import/import-file.ts';
import { readNamed } from '../process/bounded-file.ts';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { type CommonFlags, describe, outputOf, type Shell } from './command-line.ts';

interface ImportFlags extends CommonFlags {
  readonly from?: PeerName;
  readonly output: string;
}

export function addImportCommand(program: Command, shell: Shell): void {
  describe(
    program.command('import').argument('<file>', 'ngrok.yml, config.yml of cloudflared, frpc.toml or frpc.ini'),
    'Write underpass.yaml from the file of another program, and name what has no counterpart.',
    ['underpass import ~/.config/ngrok/ngrok.yml', 'underpass import config.yml --from cloudflared --output -'],
  )
    .addOption(new Option('--from <program>', 'whose file it is (default: what its settings say)').choices(peerNames))
    .option('-o, --output <file>', 'the file to write; - is standard output', configFileName)
    .action((path: string, flags: ImportFlags) => importInto(shell, path, flags));
}

async function importInto(shell: Shell, path: string, flags: ImportFlags): Promise<void> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const wrongPath = 'Check the path of the file to import.';
  const given = await readNamed(resolve(io.cwd, path), maxConfigBytes, 'config-not-found', wrongPath);
  const imported = await importFile(path, given, flags.from);
  if (imported === undefined) {
    const fix = `Name the program with --from: ${peerNames.join(', ')}.`;
    throw new ClientError('config-invalid', `${path} has no setting that ngrok, cloudflared or frp would know`, { fix });
  }
  if (imported.tunnels.length === 0) {
    throw new ClientError(
      'config-invalid',
      `${path} has no tunnel that can be carried here\n${leftOutLines(imported).join('\n')}`,
      {
        fix: 'See "Coming from another tunnel" in docs/coming-from.md for what else there is.',
      },
    );
  }
  const text = renderImported(imported);
  if (flags.output === '-' && !output.json) {
    io.stdout.write(text);
    return void output.notice(renderReport(imported, undefined));
  }
  const target = flags.output === '-' ? undefined : resolve(io.cwd, flags.output);
  if (target !== undefined) await writeNew(io, target, text);
  const { from, tunnels, leftOut } = imported;
  output.result({ from, file: target, text, tunnels, commands: commandsFor(tunnels), leftOut }, renderReport(imported, target));
}

async function writeNew(io: Io, path: string, text: string): Promise<void> {
  const parsed = parseConfig(text, io.cwd, io.home);
  if (!parsed.ok) throw new Error(`import wrote a wrong file: ${JSON.stringify(parsed.problems)}`);
  try {
    await writeFile(path, text, { flag: 'wx' });
  } catch (cause) {
    const fix = 'Choose another file with --output, or move the one that is there.';
    throw new ClientError('file-not-written', `${path} (${fileReason(cause)})`, { cause, fix });
  }
}

function renderReport(imported: Imported, path: string | undefined): string {
  const { from, tunnels, leftOut } = imported;
  const ownDomain = tunnels.some(({ domains }) => domains.length > 0);
  return [
    path === undefined ? `From ${peers[from].title}:` : `Wrote ${path}, from ${peers[from].title}:`,
    ...tunnels.flatMap(({ name, upstreams }) => upstreams.map((upstream) => `  ${name} → ${upstream}`)),
    'Create the tunnels:',
    ...commandsFor(tunnels).map((line) => `  ${line}`),
    ...elsewhereOf(from),
    ...(ownDomain ? ['A domain of your own must be verified first: underpass domains add --help'] : []),
    'Then: underpass run',
    ...(leftOut.length > 0 ? ['Without a counterpart:', ...leftOutLines(imported)] : []),
  ].join('\n');
}

function leftOutLines({ leftOut }: Imported): readonly string[] {
  // Keys and values of the file may move the cursor of a terminal.
  return leftOut.map(({ line, key, why }) => `  line ${line}, ${key}: ${why}`.replace(/\p{Cc}/gu, '?'));
}
