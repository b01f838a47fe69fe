// The service on Linux: the Connect section's unit for the system, or a unit without privileges for a user.
import { dirname, join } from 'node:path/posix';
import { commandGroups } from '@underpass/rules/connect/command.ts';
import { resourceName } from '@underpass/rules/connect/resource-name.ts';
import { defaultUnitPaths, renderUnit, unitName } from '@underpass/rules/connect/systemd-snippet.ts';
import { quoteSystemdWord } from '@underpass/rules/connect/systemd-word.ts';
import { durations } from '@underpass/rules/limits.ts';
import type { ServicePlan, ServiceSpec } from './plan.ts';

export function planSystemd(spec: ServiceSpec): ServicePlan {
  const unit = unitName(spec.tunnel.name);
  const { folder, tokenPath, text, control, hints } = spec.scope === 'system' ? systemParts(spec) : userParts(spec);
  return {
    tokenPath,
    definition: { path: join(folder, unit), text, mode: 0o644 },
    logs: [],
    close: [],
    install: [
      { argv: [...control, 'daemon-reload'] },
      { argv: [...control, 'enable', unit] },
      { argv: [...control, 'restart', unit] },
    ],
    uninstall: [{ argv: [...control, 'disable', '--now', unit], mayFail: true }],
    forget: [{ argv: [...control, 'daemon-reload'] }, { argv: [...control, 'reset-failed', unit], mayFail: true }],
    status: { argv: [...control, 'is-active', unit] },
    hints,
  };
}

function systemParts(spec: ServiceSpec) {
  const { tokenFile } = defaultUnitPaths(spec.tunnel.name);
  const binary = spec.self.map(plainOrQuoted).join(' ');
  return {
    folder: '/etc/systemd/system',
    tokenPath: tokenFile,
    text: renderUnit(spec.tunnel, spec.upstreams, { binary, tokenFile }),
    control: ['systemctl'] as const,
    hints: [`Log: journalctl -u ${unitName(spec.tunnel.name)}`],
  };
}

function userParts(spec: ServiceSpec) {
  const tokenPath = join(spec.configHome, 'underpass', `${resourceName(spec.tunnel.name)}.token`);
  return {
    folder: join(spec.configHome, 'systemd', 'user'),
    tokenPath,
    text: renderUserUnit(spec, tokenPath),
    control: ['systemctl', '--user'] as const,
    hints: [
      `Log: journalctl --user -u ${unitName(spec.tunnel.name)}`,
      `To run it while you are logged out: loginctl enable-linger ${spec.userName}`,
    ],
  };
}

/** A user's systemd cannot create dynamic users or hide folders, so this unit only sets what it can. */
function renderUserUnit(spec: ServiceSpec, tokenPath: string): string {
  const words = { quote: quoteSystemdWord, tokenFile: quoteSystemdWord(tokenPath) };
  const groups = commandGroups(spec.tunnel, spec.upstreams, words).map((group) => group.join(' '));
  return `[Unit]
Description=Underpass tunnel ${resourceName(spec.tunnel.name)}
StartLimitIntervalSec=0

[Service]
ExecStart=${spec.self.map(plainOrQuoted).join(' ')} ${groups.join(' \\\n  ')}
Restart=always
RestartSec=${durations.restartDelaySeconds}
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`;
}

function plainOrQuoted(word: string): string {
  return /^[A-Za-z0-9_./+:@-]+$/.test(word) ? word : quoteSystemdWord(word);
}

/** Folders that a system unit cannot see (ProtectHome=, PrivateTmp=). */
export function isPrivatePath(path: string): boolean {
  return ['/home/', '/root/', '/run/user/', '/tmp/', '/var/tmp/'].some((folder) => `${dirname(path)}/`.startsWith(folder));
}
