// Prints the settings table: docs/settings.md and `underpass-server config`. Secrets are never printed.

import { type Environment, type ReadFile, readSettings, type SettingRow, settingGroups, settingTable } from './settings.ts';

const keys = Object.keys(settingTable) as (keyof typeof settingTable)[];

const escapeCell = (text: string): string => text.replaceAll('|', '\\|');
const nameCell = (row: SettingRow<unknown>): string =>
  row.secret ? `\`${row.name}\` or \`${row.name}_FILE\`` : `\`${row.name}\``;

function renderGroup([group, rows]: readonly [string, Readonly<Record<string, SettingRow<unknown>>>]): string {
  const lines = Object.values(rows).map(
    (row) => `| ${nameCell(row)} | ${escapeCell(row.about)} | ${escapeCell(row.fallbackText)} |`,
  );
  return [`## ${group}`, '', '| Setting | What it is | Default |', '|---|---|---|', ...lines, ''].join('\n');
}

/** The whole of docs/settings.md. */
export function renderSettingsPage(): string {
  const intro = [
    '# Settings of the server',
    '',
    'Every setting is an environment variable. `underpass-server config` shows the values in force, and',
    '`underpass-server config --markdown` prints this page from the table in `server/settings/settings.ts`. A secret may',
    'also be in a file: set `NAME_FILE` to its path. In production (`UNDERPASS_PRODUCTION=true` or `NODE_ENV=production`)',
    'the server refuses to start on defaults that are safe only on a laptop, and names each of them.',
    '',
  ].join('\n');
  return `${intro}\n${Object.entries(settingGroups).map(renderGroup).join('\n')}`;
}

interface ShownSetting {
  readonly name: string;
  readonly value: string | null;
  readonly from: 'environment' | 'default';
  readonly about: string;
}

const hidden = '(hidden)';

function showValue(value: unknown): string | null {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  if (Array.isArray(value)) return value.map(showValue).join(', ');
  if (typeof value === 'object' && value !== null) return Object.values(value).join(':');
  return String(value);
}

/** User names and passwords inside an address are as secret as a secret. */
const withoutCredentials = (text: string): string => text.replace(/\/\/[^/@\s]*@/, `//${hidden}@`);

/** The values in force, with secrets hidden; unreadable values are shown as given, beside the problems. */
export function showSettings(env: Environment, readFile: ReadFile): readonly ShownSetting[] {
  const result = readSettings(env, readFile);
  return keys.map((key) => {
    const row: SettingRow<unknown> = settingTable[key];
    const given = env[row.name] || (row.secret ? env[`${row.name}_FILE`] : undefined);
    const value = result.ok ? result.settings[key] : (given ?? row.fallback(env));
    const shown = row.secret && given ? hidden : showValue(value);
    return {
      name: row.name,
      value: shown === null ? null : withoutCredentials(shown),
      from: given ? ('environment' as const) : ('default' as const),
      about: row.about,
    };
  });
}

export function renderSettings(settings: readonly ShownSetting[]): string {
  const width = Math.max(...settings.map((each) => each.name.length));
  const line = (each: ShownSetting): string =>
    `${each.name.padEnd(width)}  ${each.value ?? '-'}${each.from === 'default' ? '  (default)' : ''}\n${' '.repeat(width)}  ${each.about}`;
  return `${settings.map(line).join('\n')}\n`;
}
