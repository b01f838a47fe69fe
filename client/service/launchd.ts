// The service on macOS: a launchd property list, for the user's session or for the machine.
import { join } from 'node:path/posix';
import { commandGroups } from '@underpass/rules/connect/command.ts';
import { resourceName } from '@underpass/rules/connect/resource-name.ts';
import { quoteShellWord } from '@underpass/rules/connect/shell-word.ts';
import { durations } from '@underpass/rules/limits.ts';
import type { ServicePlan, ServiceSpec } from './plan.ts';
import { escapeXml } from './xml.ts';

export function planLaunchd(spec: ServiceSpec): ServicePlan {
  const name = resourceName(spec.tunnel.name);
  const label = `com.underpass.${name}`;
  const { folder, tokenPath, logPath, domain } = spec.scope === 'system' ? systemPlaces(name) : userPlaces(spec, name);
  const path = join(folder, `${label}.plist`);
  return {
    tokenPath,
    definition: { path, text: renderPlist(spec, { label, tokenPath, logPath }), mode: 0o644 },
    logs: [logPath],
    close: [],
    // `bootstrap` refuses a service that is already loaded, so `bootout` runs first.
    install: [
      { argv: ['launchctl', 'bootout', `${domain}/${label}`], mayFail: true },
      { argv: ['launchctl', 'bootstrap', domain, path] },
    ],
    uninstall: [{ argv: ['launchctl', 'bootout', `${domain}/${label}`], mayFail: true }],
    forget: [],
    status: { argv: ['launchctl', 'print', `${domain}/${label}`] },
    hints: [`Log: tail -f ${quoteShellWord(logPath)}`],
  };
}

function systemPlaces(name: string) {
  return {
    folder: '/Library/LaunchDaemons',
    tokenPath: `/Library/Application Support/underpass/${name}.token`,
    logPath: `/Library/Logs/underpass/${name}.log`,
    domain: 'system',
  };
}

function userPlaces({ home, configHome, userId }: ServiceSpec, name: string) {
  return {
    folder: join(home, 'Library/LaunchAgents'),
    tokenPath: join(configHome, 'underpass', `${name}.token`),
    logPath: join(home, 'Library/Logs/underpass', `${name}.log`),
    domain: `gui/${userId}`,
  };
}

function renderPlist(
  spec: ServiceSpec,
  { label, tokenPath, logPath }: { label: string; tokenPath: string; logPath: string },
): string {
  const words = [
    ...spec.self,
    ...commandGroups(spec.tunnel, spec.upstreams, { quote: (word) => word, tokenFile: tokenPath }).flat(),
  ];
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escapeXml(label)}</string>
  <key>ProgramArguments</key>
  <array>
${words.map((word) => `    <string>${escapeXml(word)}</string>`).join('\n')}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>${durations.restartDelaySeconds}</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>StandardOutPath</key>
  <string>${escapeXml(logPath)}</string>
  <key>StandardErrorPath</key>
  <string>${escapeXml(logPath)}</string>
</dict>
</plist>
`;
}
