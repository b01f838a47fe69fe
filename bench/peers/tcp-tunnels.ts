// Tunnels that carry plain TCP to a public port: ssh -R, chisel, frp, rathole, bore. Each runs as its manual says, with its
// own encryption if that is the default or one line of configuration.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { onPath, type Peer, type Setup } from './peer.ts';
import { freePort, type Started, start, untilListening } from './processes.ts';

type Starter = (setup: Setup, publicPort: number) => Promise<{ edgeSide: Started; clientSide: Started }>;

const binary = (name: string): string => onPath(name) ?? name;

function tcpPeer(name: string, needs: readonly string[], starter: Starter): Peer {
  return {
    name,
    carries: 'tcp',
    needs,
    start: async (setup) => {
      const port = await freePort();
      const { edgeSide, clientSide } = await starter(setup, port);
      await untilListening(port, setup.edgeAddress);
      return { address: setup.edgeAddress, port, tls: false, edgeSide: [edgeSide], clientSide: [clientSide] };
    },
  };
}

export const sshReverse = tcpPeer('ssh -R', ['sshd', 'ssh', 'ssh-keygen'], async ({ folder, originPort }, publicPort) => {
  const [hostKey, userKey] = [join(folder, 'host'), join(folder, 'user')];
  for (const file of [hostKey, userKey]) execFileSync(binary('ssh-keygen'), ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  const port = await freePort();
  // Debian's sshd wants its privilege separation folder, which its unit makes.
  mkdirSync('/run/sshd', { recursive: true });
  const config = join(folder, 'sshd.conf');
  const lines = [`Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${hostKey}`, `AuthorizedKeysFile ${userKey}.pub`];
  writeFileSync(config, [...lines, 'StrictModes no', 'UsePAM no', 'PidFile none', 'PermitRootLogin yes', ''].join('\n'));
  const edgeSide = start(binary('sshd'), ['-D', '-e', '-f', config]);
  await untilListening(port);
  const unchecked = ['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'BatchMode=yes'];
  const forward = ['-N', '-R', `127.0.0.1:${publicPort}:127.0.0.1:${originPort}`];
  const who = ['-i', userKey, '-p', String(port), `${userInfo().username}@127.0.0.1`];
  return { edgeSide, clientSide: start(binary('ssh'), [...unchecked, ...forward, ...who]) };
});

export const chisel = tcpPeer('chisel', ['chisel'], async ({ originPort, edgeAddress, startAtClient }, publicPort) => {
  const port = await freePort();
  const edgeSide = start(binary('chisel'), ['server', '--host', edgeAddress, '--port', String(port), '--reverse']);
  await untilListening(port, edgeAddress);
  const remote = `R:${edgeAddress}:${publicPort}:127.0.0.1:${originPort}`;
  return { edgeSide, clientSide: startAtClient(binary('chisel'), ['client', `http://${edgeAddress}:${port}`, remote]) };
});

const frpOver =
  (protocol: 'tcp' | 'quic'): Starter =>
  async ({ folder, originPort, edgeAddress, startAtClient }, publicPort) => {
    const [port, quicPort] = [await freePort(), await freePort()];
    const [serverFile, clientFile] = [join(folder, 'frps.toml'), join(folder, 'frpc.toml')];
    const quic = protocol === 'quic' ? `quicBindPort = ${quicPort}\n` : '';
    writeFileSync(serverFile, `bindAddr = "${edgeAddress}"\nbindPort = ${port}\n${quic}log.level = "error"\n`);
    const proxy = `[[proxies]]\nname = "bench"\ntype = "tcp"\nlocalIP = "127.0.0.1"\nlocalPort = ${originPort}\nremotePort = ${publicPort}\n`;
    const server = `serverAddr = "${edgeAddress}"\nserverPort = ${protocol === 'quic' ? quicPort : port}\n`;
    writeFileSync(clientFile, `${server}transport.protocol = "${protocol}"\nlog.level = "error"\n${proxy}`);
    const edgeSide = start(binary('frps'), ['-c', serverFile]);
    await untilListening(port, edgeAddress);
    return { edgeSide, clientSide: startAtClient(binary('frpc'), ['-c', clientFile]) };
  };

export const frp = tcpPeer('frp', ['frps', 'frpc'], frpOver('tcp'));
export const frpQuic = tcpPeer('frp, QUIC', ['frps', 'frpc'], frpOver('quic'));

export const rathole = tcpPeer('rathole', ['rathole'], async ({ folder, originPort }, publicPort) => {
  const port = await freePort();
  const [serverFile, clientFile] = [join(folder, 'server.toml'), join(folder, 'client.toml')];
  // Any token will do, if it is the same on both sides.
  const token = `run-${process.pid}`;
  // Encryption with temporary keys; the benchmark does not check identity.
  const noise = 'pattern = "Noise_NN_25519_ChaChaPoly_BLAKE2s"';
  const transport = (side: string) => `[${side}.transport]\ntype = "noise"\n[${side}.transport.noise]\n${noise}\n`;
  const serverLines = `[server]\nbind_addr = "127.0.0.1:${port}"\ndefault_token = "${token}"\n${transport('server')}`;
  writeFileSync(serverFile, `${serverLines}[server.services.bench]\nbind_addr = "127.0.0.1:${publicPort}"\n`);
  const clientLines = `[client]\nremote_addr = "127.0.0.1:${port}"\ndefault_token = "${token}"\n${transport('client')}`;
  writeFileSync(clientFile, `${clientLines}[client.services.bench]\nlocal_addr = "127.0.0.1:${originPort}"\n`);
  const edgeSide = start(binary('rathole'), ['--server', serverFile]);
  await untilListening(port);
  return { edgeSide, clientSide: start(binary('rathole'), ['--client', clientFile]) };
});

/** bore's control port is fixed. */
const boreControlPort = 7835;

export const bore = tcpPeer('bore', ['bore'], async ({ originPort }, publicPort) => {
  const edgeSide = start(binary('bore'), ['server', '--bind-addr', '127.0.0.1']);
  await untilListening(boreControlPort);
  const clientArgs = ['local', String(originPort), '--to', '127.0.0.1', '--port', String(publicPort)];
  return { edgeSide, clientSide: start(binary('bore'), clientArgs) };
});
