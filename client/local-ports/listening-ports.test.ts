import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { test } from 'node:test';
import type { CommandResult } from '../process/io.ts';
import { createProcessIo } from '../process/process-io.ts';
import { findListening } from './listening-ports.ts';
import { parseProcNet } from './socket-tables.ts';

const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:9471 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 156659 1 00000000b230e77e 100 0 0 10 0
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 150550 1 00000000c75f198b 100 0 0 10 0
   2: 0100007F:6BC9 0100007F:E3A2 01 00000000:00000000 00:00000000 00000000     0        0 150777 1 00000000c75f198c 20 4 30 10 -1
`;
const tcp6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:9472 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 156658 1 0000000063311859 100 0 0 10 0
   1: 0000000000000000FFFF00000100007F:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 17231 1 0000000000000000 100 0 0 10 0
   2: B80D0120000000000000000001000000:0BB9 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 17232 1 0000000000000000 100 0 0 10 0
`;

test('of the tables of Linux only sockets that listen count, IPv4, IPv6 and mapped', () => {
  assert.deepEqual(
    [...parseProcNet(tcp), ...parseProcNet(tcp6)],
    [
      { address: '127.0.0.1', port: 38001, inode: '156659' },
      { address: '*', port: 22, inode: '150550' },
      { address: '::1', port: 38002, inode: '156658' },
      { address: '127.0.0.1', port: 3000, inode: '17231' },
      { address: '2001:db8::1', port: 3001, inode: '17232' },
    ],
  );
});

/** Answers of programs by the beginning of the command line. */
const io = (platform: 'darwin' | 'win32', answers: Readonly<Record<string, string>>) => ({
  ...createProcessIo({}),
  platform,
  execute: async (file: string, args: readonly string[]): Promise<CommandResult> => {
    const line = [file, ...args].join(' ');
    const key = Object.keys(answers).find((each) => line.startsWith(each));
    return key === undefined ? { code: 127, stdout: '', stderr: '' } : { code: 0, stdout: answers[key]!, stderr: '' };
  },
});

test('lsof gives program and folder; a port at several addresses is one, at localhost if it can be', async () => {
  const listening = 'p508\ncnode\nf20\nn192.168.1.5:3000\nf21\nn[::1]:3000\np509\ncpython3\nf3\nn*:8000\nf4\nn10.0.0.1:8001\n';
  const folders = 'p508\nfcwd\nn/Users/ada/shop\np509\nfcwd\nn/\n';
  assert.deepEqual(await findListening(io('darwin', { 'lsof -nP -iTCP': listening, 'lsof -a -d cwd -p 508,509': folders })), [
    { port: 3000, host: 'localhost', program: 'node', folder: '/Users/ada/shop' },
    { port: 8000, host: 'localhost', program: 'python3', folder: '/' },
    { port: 8001, host: '10.0.0.1', program: 'python3', folder: '/' },
  ]);
});

test('netstat is read in every language, and names come from tasklist', async () => {
  const netstat = [
    '\r\nAktive Verbindungen\r\n\r\n  Proto  Lokale Adresse         Remoteadresse          Status           PID',
    '  TCP    0.0.0.0:135            0.0.0.0:0              ABHÖREN         1032',
    '  TCP    127.0.0.1:3000         0.0.0.0:0              ABHÖREN         4711',
    '  TCP    192.168.1.5:49755      140.82.113.26:443      HERGESTELLT     4711',
    '  TCP    [::1]:5173             [::]:0                 ABHÖREN         4712',
    '  UDP    0.0.0.0:123            *:*                                    1208',
    '',
  ].join('\r\n');
  const tasklist = '"svchost.exe","1032","Services","0","12.345 K"\r\n"node.exe","4711","Console","1","45.678 K"\r\n';
  assert.deepEqual(await findListening(io('win32', { 'netstat -ano': netstat, tasklist })), [
    { port: 135, host: 'localhost', program: 'svchost', folder: '' },
    { port: 3000, host: 'localhost', program: 'node', folder: '' },
    { port: 5173, host: 'localhost', program: '', folder: '' },
  ]);
});

test('a system without such a program has no ports', async () => {
  assert.deepEqual(await findListening(io('darwin', {})), []);
  assert.deepEqual(await findListening(io('win32', {})), []);
});

test('on this machine a server is found with its program and folder', { skip: process.platform !== 'linux' }, async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const found = (await findListening(createProcessIo({}))).find((each) => each.port === port);
  assert.deepEqual(found, { port, host: 'localhost', program: 'node', folder: process.cwd() });
});
