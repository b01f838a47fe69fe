// A TCP connection as the kernel sees it: its path, and the congestion control that suits the path. Where the runtime or the
// system cannot say or change it, nothing happens; no connection fails for it.

import { isIP, type Server, Socket, type TcpNetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { findSocketCalls, type SocketCalls } from '@underpass/runtime/libc.ts';
import { type Controls, isUntried, type LossBased, nextControl } from './core/congestion.ts';
import { parseTcpInfo, type TcpInfo, tcpInfoBytes } from './core/tcp-info.ts';

/** Linux: socket(2) and tcp(7). */
const internet = 2;
const internet6 = 10;
/** SOCK_STREAM, SOCK_CLOEXEC and SOCK_NONBLOCK. */
const streamCloseOnExec = 0o2004001;
const tcp = 6;
const infoOption = 11;
const controlOption = 13;
const unsentOption = 25;
/** socket(7). */
const socketLevel = 1;
const paceOption = 47;
const noPace = 0xffff_ffff;

/** `UNDERPASS_CONGESTION=system` leaves each connection the control that the system gives it. */
const isOn = process.env.UNDERPASS_CONGESTION !== 'system';

/** Undefined until the first call: a client loads FFI only when it dials. */
let calls: SocketCalls | null | undefined;
function socketCalls(): SocketCalls | null {
  calls ??= findSocketCalls();
  return calls;
}

const descriptorOf = (socket: Duplex | Server): number =>
  (socket as { readonly _handle?: { readonly fd?: number } | null })._handle?.fd ?? -1;

const infoRoom = Buffer.alloc(tcpInfoBytes);
/** TCP_CA_NAME_MAX. */
const nameRoom = Buffer.alloc(16);
const length = Buffer.alloc(4);

/** The answer is valid until the next call. */
function readOption(fd: number, option: number, room: Buffer): Buffer | null {
  if (fd < 0) return null;
  length.writeUInt32LE(room.length);
  return socketCalls()?.get(fd, tcp, option, room, length) === 0 ? room.subarray(0, length.readUInt32LE()) : null;
}

/** Null where it cannot be read: on another system or transport, or of a connection that is over. */
export function readTcpInfo(socket: Duplex): TcpInfo | null {
  const bytes = readOption(descriptorOf(socket), infoOption, infoRoom);
  return bytes && parseTcpInfo(bytes);
}

const readControl = (fd: number): string | null =>
  readOption(fd, controlOption, nameRoom)?.toString('latin1').replace(/\0.*$/s, '') ?? null;

function setControl(fd: number, control: string): boolean {
  const value = Buffer.from(control, 'latin1');
  return socketCalls()?.set(fd, tcp, controlOption, value, value.length) === 0;
}

let offered: Controls | null | undefined;

/**
 * What the system offers this process, tried once on a socket that connects to nothing; null where it cannot be chosen, or where
 * the setting forbids it. The first try of a privileged process makes the kernel load BBR.
 */
export function offeredControls(): Controls | null {
  if (offered === undefined) offered = isOn ? tryControls() : null;
  return offered;
}

function tryControls(): Controls | null {
  const fd = socketCalls()?.open(internet, streamCloseOnExec, 0) ?? -1;
  const system = readControl(fd);
  if (system === null) return null;
  const near = (['cubic', 'reno'] as const satisfies readonly LossBased[]).find((control) => setControl(fd, control)) ?? null;
  const far = setControl(fd, 'bbr') ? 'bbr' : null;
  socketCalls()?.close(fd);
  return { system, far, near };
}

/** Chooses the control by the path of a connected socket. Returns the one in use; null if it cannot be read. */
export const adaptControl = (socket: Duplex): string | null => adapt(socket, false).control;

interface Adapted {
  /** The one in use; null if it cannot be read. */
  readonly control: string | null;
  /** True on a long path that has carried too little to show whether BBR helps. */
  readonly isUndecided: boolean;
}

/** The same for a connection that may carry little: a long path alone is no reason for BBR. */
export const adaptToUse = (socket: Duplex): Adapted => adapt(socket, true);

function adapt(socket: Duplex, awaitsUse: boolean): Adapted {
  const fd = descriptorOf(socket);
  const current = readControl(fd);
  const controls = offeredControls();
  const info = controls && readTcpInfo(socket);
  if (current === null || controls === null || info === null) return { control: current, isUndecided: false };
  const next = nextControl(current, info, controls);
  const isUndecided = awaitsUse && next === 'bbr' && isUntried(info);
  return { control: next !== null && !isUndecided && setControl(fd, next) ? next : current, isUndecided };
}

/**
 * The kernel takes no more than this many bytes that it cannot send yet, so the writer decides later what comes first, and sees
 * that the connection is full.
 */
export const limitUnsent = (socket: Duplex, bytes: number): void => setNumber(socket, tcp, unsentOption, bytes);

/** The kernel sends no more than this; null: as the congestion control likes. */
export const limitPace = (socket: Duplex, bytesPerSecond: number | null): void =>
  setNumber(socket, socketLevel, paceOption, Math.min(bytesPerSecond ?? noPace, noPace));

function setNumber(socket: Duplex, level: number, option: number, number: number): void {
  const value = Buffer.alloc(4);
  value.writeUInt32LE(number);
  socketCalls()?.set(descriptorOf(socket), level, option, value, value.length);
}

/** Connects as net.connect does. To an address, not a name, the connection begins without BBR, for the reason of beginNear. */
export function connectNear(options: TcpNetConnectOpts): Socket {
  const fd = openNear(options.host ?? '');
  // Nothing can be read before it connects; the types lack this option.
  const given = { ...options, fd, manualStart: true };
  return new Socket(fd < 0 ? options : given).connect(options);
}

/** A descriptor for this address, if the system would give the connection BBR; else -1. */
function openNear(host: string): number {
  const family = isIP(host);
  const controls = family === 0 ? null : offeredControls();
  if (controls?.system !== 'bbr' || controls.near === null) return -1;
  const fd = socketCalls()?.open(family === 6 ? internet6 : internet, streamCloseOnExec, 0) ?? -1;
  if (fd >= 0) setControl(fd, controls.near);
  return fd;
}

/**
 * Connections of this server begin without BBR: a connection that once had it is paced for the rest of its life. adaptControl
 * gives it to those whose path is long.
 */
export function beginNear(server: Server): void {
  const controls = offeredControls();
  if (controls?.system === 'bbr' && controls.near !== null) setControl(descriptorOf(server), controls.near);
}
