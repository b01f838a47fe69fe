// The service on Windows: a scheduled task that starts at log-on for a user, or at start-up as LOCAL SERVICE for the machine.
import { join } from 'node:path';
import { commandGroups } from '@underpass/rules/connect/command.ts';
import { resourceName } from '@underpass/rules/connect/resource-name.ts';
import type { ServiceCommand, ServicePlan, ServiceSpec } from './plan.ts';
import { escapeXml } from './xml.ts';

/** Well-known SIDs of LOCAL SERVICE, SYSTEM and Administrators. Their names depend on the language of Windows. */
const localService = 'S-1-5-19';
const systemSid = '*S-1-5-18';
const administratorsSid = '*S-1-5-32-544';

export function planWindowsTask(spec: ServiceSpec): ServicePlan {
  const name = resourceName(spec.tunnel.name);
  const task = `\\Underpass\\${name}`;
  const folder = spec.scope === 'system' ? 'C:\\ProgramData\\underpass' : join(spec.configHome, 'underpass');
  const tokenPath = join(folder, `${name}.token`);
  const definition = join(folder, `${name}.task.xml`);
  return {
    tokenPath,
    definition: { path: definition, text: `\ufeff${renderTask(spec, tokenPath)}`, mode: 0o600, encoding: 'utf16le' },
    logs: [],
    close: spec.scope === 'system' ? closeFolder(folder) : [],
    install: [
      ...(spec.scope === 'user' ? [closeToken(tokenPath, spec)] : []),
      { argv: ['schtasks', '/Create', '/TN', task, '/XML', definition, '/F'] },
      { argv: ['schtasks', '/End', '/TN', task], mayFail: true },
      { argv: ['schtasks', '/Run', '/TN', task] },
    ],
    uninstall: [
      { argv: ['schtasks', '/End', '/TN', task], mayFail: true },
      { argv: ['schtasks', '/Delete', '/TN', task, '/F'], mayFail: true },
    ],
    forget: [],
    status: { argv: ['schtasks', '/Query', '/TN', task] },
    hints: [`State: schtasks /Query /V /FO LIST /TN ${task}`],
  };
}

/** Does what mode 0600 does elsewhere. */
const closeToken = (path: string, { userName }: ServiceSpec): ServiceCommand => ({
  argv: ['icacls', path, '/inheritance:r', ...grants(`${userName}:F`, `${systemSid}:F`, `${administratorsSid}:F`)],
});

/**
 * Any user may have made the folder, since all may add to ProgramData, and could change the task's file before it is read. A new
 * owner first: the old one could undo the rest. Files get the rights of the folder.
 */
function closeFolder(path: string): ServiceCommand[] {
  const own = grants(`*${localService}:(OI)(CI)RX`, `${systemSid}:(OI)(CI)F`, `${administratorsSid}:(OI)(CI)F`);
  return [
    { argv: ['icacls', path, '/setowner', administratorsSid] },
    { argv: ['icacls', path, '/reset'] },
    { argv: ['icacls', path, '/inheritance:r', ...own] },
  ];
}

const grants = (...rights: readonly string[]): readonly string[] => rights.flatMap((right) => ['/grant:r', right]);

/** Restarts a minute after a failure, the scheduler's shortest delay. PT0S: no limit on how long the task runs. */
function renderTask(spec: ServiceSpec, tokenPath: string): string {
  const [file = '', ...first] = spec.self;
  const groups = commandGroups(spec.tunnel, spec.upstreams, { quote: (word) => word, tokenFile: tokenPath });
  const words = [...first, ...groups.flat()].map(quoteWindowsWord).join(' ');
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Underpass tunnel ${escapeXml(resourceName(spec.tunnel.name))}</Description>
  </RegistrationInfo>
  <Triggers>
${spec.scope === 'system' ? bootTrigger : logonTrigger(spec)}
  </Triggers>
  <Principals>
    <Principal id="Author">
${spec.scope === 'system' ? `      <UserId>${localService}</UserId>` : userPrincipal(spec)}
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>999</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${escapeXml(file)}</Command>
      <Arguments>${escapeXml(words)}</Arguments>
    </Exec>
  </Actions>
</Task>
`;
}

const bootTrigger = '    <BootTrigger />';

function logonTrigger({ userName }: ServiceSpec): string {
  return `    <LogonTrigger>\n      <UserId>${escapeXml(userName)}</UserId>\n    </LogonTrigger>`;
}

function userPrincipal({ userName }: ServiceSpec): string {
  return `      <UserId>${escapeXml(userName)}</UserId>\n      <LogonType>InteractiveToken</LogonType>`;
}

/** Quotes a word for CommandLineToArgvW: backslashes are special only before a quote. */
export function quoteWindowsWord(word: string): string {
  if (word !== '' && !/[\s"]/.test(word)) return word;
  return `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`;
}
