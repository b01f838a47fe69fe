// http, ingress and tcp: carry the traffic of one tunnel, given by its URL and token. `connect` fetches both by name; quick.ts adds the
// form of `http` that makes a tunnel.

import { resolve } from 'node:path';
import { type TunnelType, tunnelTypeNames } from '@underpass/rules/tunnel/tunnel-type.ts';
import { type Command, Option } from 'commander';
import { type LoadedTunnel, loadTunnel } from '../config/loaded-tunnel.ts';
import { readToken } from '../config/token.ts';
import { parseTunnelUrl, type TunnelConfig, upstreamForms } from '../config/tunnel-config.ts';
import { upstreamsOfFlags } from '../config/upstream-flags.ts';
import { ClientError, orUsage } from '../process/error.ts';
import type { Output } from '../terminal/output.ts';
import { carryUntilStopped, type InspectFlags } from '../tunnels/carry-loop.ts';
import type { Readiness } from '../tunnels/readiness.ts';
import {
  collect,
  describe,
  outputOf,
  parsePagePort,
  printUrlOption,
  refuseOptions,
  requireOption,
  type Shell,
  withPrint,
} from './command-line.ts';

export interface InspectOptions {
  readonly inspect?: boolean;
  readonly inspectPort?: number;
  readonly webhookSecretFile?: string;
}

export interface UpstreamFlags extends InspectOptions {
  readonly json?: boolean;
  readonly upstreamHost?: readonly string[];
  readonly ca?: string;
  readonly upstreamCa?: string;
  readonly upstreamInsecure?: boolean;
  readonly health?: string;
}

export interface CarryFlags extends UpstreamFlags, PrivateFlags {
  readonly url?: string;
  readonly upstream?: readonly string[];
  readonly tokenFile?: string;
  readonly print?: 'url';
}

export interface PrivateFlags {
  readonly private?: boolean;
  readonly ticketsOnly?: boolean;
  readonly keyFile?: string;
}

const privateOptions = ['ticketsOnly', 'keyFile'] as const;

export function withPrivateOptions(command: Command): Command {
  return command
    .option('--private', 'the tunnel is private: serve nobody in plain text, and end TLS here')
    .option('--tickets-only', 'with --private: serve only tickets that were made with the key of this client')
    .option('--key-file <file>', 'with --private: key of this client, made if missing (default: reach.pem in the config folder)');
}

/** `isPrivate`: the server says so. */
export function privateOf({ io }: Shell, flags: PrivateFlags, isPrivate = false): Pick<TunnelConfig, 'private'> {
  if (flags.private !== true && !isPrivate) {
    refuseOptions(flags, privateOptions, 'for --private');
    return {};
  }
  const keyFile = flags.keyFile === undefined ? {} : { keyFile: resolve(io.cwd, flags.keyFile) };
  return { private: { ticketsOnly: flags.ticketsOnly === true, ...keyFile } };
}

export function addCarryCommands(program: Command, shell: Shell): void {
  for (const type of tunnelTypeNames) addCarry(program, shell, type);
}

const carryTexts: Readonly<Record<TunnelType, CarryTexts>> = {
  http: {
    about: 'Carry an http tunnel: the edge ends TLS, your service gets plain HTTP.',
    speaksHttp: true,
    examples: [
      'underpass http 3000',
      'underpass http --url https://eu1.example.com --token-file shop.token --upstream http://127.0.0.1:8080',
      'underpass http --url https://eu1.example.com --token-file shop.token --upstream shop.example.com=http://127.0.0.1:8080 --upstream api.example.com=https://10.0.0.7',
      'underpass http --url https://eu1.example.com --token-file grpc.token --upstream h2c://127.0.0.1:50051',
    ],
  },
  ingress: {
    about: 'Carry an ingress tunnel: ports 80 and 443 pass through untouched.',
    speaksHttp: false,
    examples: [
      'underpass ingress --url https://eu1.example.com --token-file cluster.token --upstream ingress-nginx-controller',
      'underpass ingress --url https://eu1.example.com --token-file cluster.token --upstream 80=127.0.0.1:8080 --upstream 443=127.0.0.1:8443',
    ],
  },
  tcp: {
    about: 'Carry a tcp tunnel: a public port of the region for any TCP service.',
    speaksHttp: false,
    examples: [
      'underpass tcp 5432',
      'underpass tcp --url https://eu1.example.com --token-file database.token --upstream 127.0.0.1:5432',
    ],
  },
};

interface CarryTexts {
  readonly about: string;
  /** The client sees the HTTP of its upstreams, and checks the certificates of those that speak https. */
  readonly speaksHttp: boolean;
  readonly examples: readonly string[];
}

function addCarry(program: Command, shell: Shell, type: TunnelType): void {
  const texts = carryTexts[type];
  const command = describe(program.command(type), texts.about, texts.examples);
  withUpstreamOptions(
    (type === 'tcp' ? withPrivateOptions(command) : command)
      .option('--url <url>', 'URL of the tunnel, from its Connect section')
      .option('--token-file <file>', 'file that holds the token, - for standard input (default: UNDERPASS_TOKEN)')
      .option('--upstream <upstream>', `${upstreamForms[type]}; may be repeated`, collect)
      .addOption(printUrlOption()),
    type,
  ).action((flags: CarryFlags) => withPrint(shell, flags.print, (inner) => carry(inner, type, flags)));
}

export function upstreamHostOption(): Option {
  const what = 'Host header sent to the upstream: same (the one of the visitor), upstream (its own) or a name';
  return new Option('--upstream-host <host>', `${what}; DOMAIN=HOST for one domain (default: same)`).argParser(collect);
}

export const caOption = (): Option =>
  new Option('--ca <file>', 'CA certificates (PEM) to trust for the region, besides those of the system');

/**
 * An ingress tunnel passes TLS through. Of the options for http upstreams, two have no effect, as in the file, and one is
 * refused.
 */
export function withUpstreamOptions(command: Command, type?: TunnelType): Command {
  const hidden = type !== undefined && !carryTexts[type].speaksHttp;
  command
    .addOption(upstreamHostOption().hideHelp(hidden))
    .addOption(caOption())
    .addOption(new Option('--upstream-ca <file>', 'CA certificates (PEM) to trust for https upstreams').hideHelp(hidden))
    .addOption(
      new Option('--upstream-insecure', 'do not check certificates of https upstreams').conflicts('upstreamCa').hideHelp(hidden),
    )
    .option('--health <address>', 'answer /healthz and /readyz on this address, e.g. 127.0.0.1:8471');
  return withInspectOptions(command, hidden);
}

export function withInspectOptions(command: Command, hidden = false): Command {
  return command
    .addOption(new Option('--inspect', 'show requests and answers on a page of this machine').hideHelp(hidden))
    .addOption(
      new Option('--inspect-port <port>', 'port of the inspector; implies --inspect').argParser(parsePagePort).hideHelp(hidden),
    )
    .addOption(
      new Option('--webhook-secret-file <file>', 'with --inspect: file of secrets that check webhook signatures').hideHelp(
        hidden,
      ),
    );
}

export async function carry(shell: Shell, type: TunnelType, flags: CarryFlags): Promise<void> {
  const output = outputOf(shell, flags);
  const url = orUsage(parseTunnelUrl(requireOption(flags.url, '--url <url>')));
  const upstreams = upstreamsOfFlags(type, requireOption(flags.upstream, '--upstream <upstream>'), flags.upstreamHost);
  const token = { kind: 'value', token: await readToken(shell.io, flags.tokenFile, output) } as const;
  const name = new URL(url).hostname;
  await carryTunnel(
    shell,
    { name, isUnnamed: true, url, token, upstreams, ...tlsOf(shell, flags), ...privateOf(shell, flags) },
    flags,
  );
}

/** Carries one tunnel until a signal. */
export async function carryTunnel(
  shell: Shell,
  config: TunnelConfig,
  flags: UpstreamFlags,
  readiness: Readiness = {},
): Promise<void> {
  const output = outputOf(shell, flags);
  const tunnels = [await loadWithKey(shell, config, output)];
  const inspect = inspectOf(shell, config.upstreams.type, flags);
  const ready = { ...readiness, print: shell.printUrl };
  shell.exitCode = await carryUntilStopped(shell.io, { output, tunnels, health: flags.health, inspect, ready });
}

/** A tunnel that is not private loads no module for it. */
export async function loadWithKey({ io }: Shell, config: TunnelConfig, output: Output): Promise<LoadedTunnel> {
  const loaded = await loadTunnel(io, config, output);
  return config.private === undefined ? loaded : (await import('../gateway/reach-key.ts')).withReachKey(io, loaded, output);
}

/** `byDefault`: without an option it is on, and a failure to start it is a warning. */
export function inspectOf(shell: Shell, type: TunnelType, flags: InspectOptions, byDefault = false): InspectFlags | undefined {
  const { inspectPort: port, webhookSecretFile: file } = flags;
  if (!(flags.inspect ?? (byDefault || port !== undefined))) {
    if (file !== undefined) throw new ClientError('usage', "option '--webhook-secret-file <file>' is for --inspect");
    return undefined;
  }
  if (type !== 'http') {
    if (flags.inspect !== true && port === undefined) return undefined;
    const why = type === 'ingress' ? 'what passes an ingress tunnel is encrypted' : 'a tcp tunnel carries any protocol';
    throw new ClientError('usage', `option '--inspect' is for http tunnels: ${why}`);
  }
  const isAsked = flags.inspect === true || port !== undefined || file !== undefined;
  return { port, secretFile: file === undefined ? undefined : resolve(shell.io.cwd, file), mayFail: !isAsked };
}

export function tlsOf({ io }: Shell, flags: UpstreamFlags): Pick<TunnelConfig, 'caFile' | 'upstreamCaFile' | 'upstreamInsecure'> {
  return {
    upstreamInsecure: flags.upstreamInsecure === true,
    ...(flags.ca === undefined ? {} : { caFile: resolve(io.cwd, flags.ca) }),
    ...(flags.upstreamCa === undefined ? {} : { upstreamCaFile: resolve(io.cwd, flags.upstreamCa) }),
  };
}
