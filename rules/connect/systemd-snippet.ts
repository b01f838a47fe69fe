// The systemd tab: shell lines that store the token so that only root can read it, write the unit and start it. `underpass
// service install` writes only the result of `renderUnit`.

import { durations } from '../limits.ts';
import { type ConnectTunnel, type ConnectUpstreams, commandGroups } from './command.ts';
import { resourceName } from './resource-name.ts';
import { renderHereDocument } from './shell-word.ts';
import { joinSections, type Snippet } from './snippet.ts';
import { quoteSystemdWord } from './systemd-word.ts';

interface UnitPaths {
  readonly binary: string;
  readonly tokenFile: string;
}

export function unitName(tunnelName: string): string {
  return `underpass-${resourceName(tunnelName)}.service`;
}

export function defaultUnitPaths(tunnelName: string): UnitPaths {
  return { binary: '/usr/local/bin/underpass', tokenFile: `/etc/underpass/${resourceName(tunnelName)}.token` };
}

const noProgram = 'No released underpass on the PATH: install one first (page CLI). The client of a clone cannot be copied.';

/**
 * systemd reads the token as root and hands a copy to a user made up for this unit (LoadCredential=, DynamicUser=;
 * systemd 247). No MemoryDenyWriteExecute=: the client's runtime compiles as it runs.
 */
export function renderUnit(
  tunnel: Pick<ConnectTunnel, 'name' | 'url' | 'isPrivate' | 'ticketsOnly'>,
  upstreams: ConnectUpstreams,
  paths: UnitPaths,
): string {
  const groups = commandGroups(tunnel, upstreams, {
    quote: quoteSystemdWord,
    tokenFile: '${CREDENTIALS_DIRECTORY}/token',
    keyFile: '${STATE_DIRECTORY}/reach.pem',
  });
  return `[Unit]
Description=Underpass tunnel ${resourceName(tunnel.name)}
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=${paths.binary} ${groups.map((group) => group.join(' ')).join(' \\\n  ')}
LoadCredential=token:${paths.tokenFile}
${tunnel.isPrivate ? `StateDirectory=underpass-${resourceName(tunnel.name)}\n` : ''}Restart=always
RestartSec=${durations.restartDelaySeconds}
DynamicUser=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
PrivateDevices=yes
PrivateTmp=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
`;
}

export function renderSystemdSnippet(tunnel: ConnectTunnel, upstreams: ConnectUpstreams): Snippet {
  const paths = defaultUnitPaths(tunnel.name);
  const unit = renderHereDocument(renderUnit(tunnel, upstreams, paths), 'UNIT');
  const end = unit.rest.lastIndexOf('\n', unit.rest.length - 2) + 1;
  return joinSections([
    { language: 'shellscript', text: renderPreparation(tunnel, paths, unit.start) },
    { language: 'systemd', text: unit.rest.slice(0, end) },
    { language: 'shellscript', text: `${unit.rest.slice(end)}${renderStart(unitName(tunnel.name))}` },
  ]);
}

/**
 * A subshell: the shell reads all lines before the first one asks for a password, and a line that fails ends the subshell but not
 * the shell that it was pasted into. Only a released program can be copied (it is ELF): a clone or npm puts a script on the PATH,
 * which runs only beside its packages.
 */
function renderPreparation(tunnel: ConnectTunnel, { binary, tokenFile }: UnitPaths, unitStart: string): string {
  const token = renderHereDocument(tunnel.token, 'TOKEN');
  return `(set -e
if [ ! -x ${binary} ]; then
  head -c 4 "$(command -v underpass)" 2> /dev/null | grep -q ELF || { echo '${noProgram}' >&2; exit 1; }
  sudo install -m 0755 "$(command -v underpass)" ${binary}
fi
sudo mkdir -p /etc/underpass
sudo sh -c 'umask 077; rm -f ${tokenFile}; cat > ${tokenFile}' ${token.start}
${token.rest}sudo tee /etc/systemd/system/${unitName(tunnel.name)} > /dev/null ${unitStart}
`;
}

function renderStart(unit: string): string {
  return `sudo systemctl daemon-reload
sudo systemctl enable --now ${unit})
`;
}
