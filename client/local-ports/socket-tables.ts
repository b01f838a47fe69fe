// What systems print about listening TCP sockets: /proc/net/tcp of Linux, lsof of macOS, netstat and tasklist of Windows.
// Pure parsers. A line that they do not know gives nothing.

import { formatAddress, parseAddress } from '@underpass/rules/address/address.ts';

export interface ListeningSocket {
  /** The address in canonical text; `*` is every address. */
  readonly address: string;
  readonly port: number;
}

function socketAt(address: string, port: number): ListeningSocket | undefined {
  const parsed = address === '*' ? null : parseAddress(address);
  if (parsed === null && address !== '*') return undefined;
  const canonical = parsed === null ? '*' : formatAddress(parsed);
  return { address: canonical === '0.0.0.0' || canonical === '::' ? '*' : canonical, port };
}

/** `127.0.0.1:80`, `[::1]:80` or `*:80`. */
function parseSocket(text: string): ListeningSocket | undefined {
  const [, v6, other, port] = /^(?:\[([^\]%]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  return port === undefined ? undefined : socketAt(v6 ?? other ?? '', Number(port));
}

const listenState = '0A';

/** proc_pid_net_tcp(5): the state is the fourth field, the inode the tenth. */
export function parseProcNet(text: string): readonly (ListeningSocket & { readonly inode: string })[] {
  return text.split('\n').flatMap((line) => {
    const [, place = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    const [address = '', port = ''] = place.split(':');
    if (state !== listenState) return [];
    const socket = socketAt(addressOfWords(address), Number.parseInt(port, 16));
    return socket === undefined ? [] : [{ ...socket, inode }];
  });
}

/** Each word of 32 bits is printed as a number of the processor, and every processor that the client is built for is little-endian. */
function addressOfWords(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => word.match(/../g)!.reverse());
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join('.');
  return bytes.map((byte, at) => (at % 2 === 1 && at < 15 ? `${byte}:` : byte)).join('');
}

interface LsofProcess {
  readonly pid: number;
  readonly command: string;
  /** Places of sockets, or paths of files. */
  readonly names: readonly string[];
}

/** Fields of `-F`: one in each line, its first letter says which. `p` begins a process. */
export function parseLsof(text: string): readonly LsofProcess[] {
  const processes: { pid: number; command: string; names: string[] }[] = [];
  for (const line of text.split('\n')) {
    const value = line.slice(1);
    const current = processes.at(-1);
    if (line[0] === 'p') processes.push({ pid: Number(value), command: '', names: [] });
    else if (line[0] === 'c' && current) current.command = value;
    else if (line[0] === 'n') current?.names.push(value);
  }
  return processes;
}

export function listeningOf({ names }: LsofProcess): readonly ListeningSocket[] {
  return names.flatMap((name) => parseSocket(name) ?? []);
}

/** The name of the state is in the language of the system; only a listening socket has port 0 at the other end. */
export function parseNetstat(text: string): readonly (ListeningSocket & { readonly pid: number })[] {
  return text.split('\n').flatMap((line) => {
    const [, place = '', pid] = /^\s*TCP\s+(\S+)\s+\S+:0\s+\S+\s+(\d+)\s*$/.exec(line) ?? [];
    const socket = parseSocket(place);
    return socket === undefined ? [] : [{ ...socket, pid: Number(pid) }];
  });
}

/** `"node.exe","1234",…` of `tasklist /fo csv /nh`. */
export function parseTasklist(text: string): ReadonlyMap<number, string> {
  const rows = [...text.matchAll(/^"([^"]+)","(\d+)"/gm)];
  return new Map(rows.map(([, name = '', pid]) => [Number(pid), name.replace(/\.exe$/i, '')]));
}
