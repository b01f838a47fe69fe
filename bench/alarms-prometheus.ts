// Prometheus with the shipped alerts, whose durations are shorter.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePorts } from '@underpass/tests/helpers/port.ts';
import { startProgram, temporaryHome } from '@underpass/tests/helpers/process.ts';
import { requireTool } from '@underpass/tests/helpers/tool.ts';
import { hasten } from './core/alarms.ts';

export const rulesPath = fileURLToPath(new URL('../deploy/monitoring/alerts.yaml', import.meta.url));

export interface Watcher {
  /** Names of the alerts that fire now. */
  firing(): Promise<ReadonlySet<string>>;
  /** What has fired since the start, and what was about to: series of ALERTS. */
  history(): Promise<readonly string[]>;
  /** Which metrics ports to read, by the name of the process. */
  watch(targets: Readonly<Record<string, number>>): Promise<void>;
}

const config = (folder: string): string => `
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [${join(folder, 'alerts.yaml')}]
scrape_configs:
  - job_name: underpass
    file_sd_configs: [{ files: [${join(folder, 'targets.json')}], refresh_interval: 1s }]
`;

export async function startPrometheus(
  t: TestContext,
  targets: Readonly<Record<string, number>>,
  factor: number,
): Promise<Watcher> {
  const folder = await temporaryHome(t);
  const [port = 0] = await freePorts(1);
  const watch = async (wanted: Readonly<Record<string, number>>): Promise<void> => {
    const groups = Object.entries(wanted).map(([instance, target]) => ({
      targets: [`127.0.0.1:${target}`],
      labels: { instance },
    }));
    const path = join(folder, 'targets.json');
    await writeFile(`${path}.next`, JSON.stringify(groups));
    await rename(`${path}.next`, path);
  };
  await watch(targets);
  await writeFile(join(folder, 'alerts.yaml'), hasten(await readFile(rulesPath, 'utf8'), factor));
  await writeFile(join(folder, 'prometheus.yaml'), config(folder));
  const flags = [
    `--config.file=${join(folder, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ];
  await startProgram(t, requireTool('prometheus'), flags).listening(port);
  const query = async (expr: string): Promise<readonly Readonly<Record<string, string>>[]> => {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`;
    const { data } = (await (await fetch(url)).json()) as { data: { result: { metric: Record<string, string> }[] } };
    return data.result.map(({ metric }) => metric);
  };
  return {
    watch,
    firing: async () => new Set((await query('ALERTS{alertstate="firing"}')).map(({ alertname = '' }) => alertname)),
    history: async () => {
      const seen = await query('count_over_time(ALERTS[1h])');
      return seen.map(({ alertname, alertstate, instance = '', ...rest }) =>
        `${alertname} ${alertstate} ${instance} ${rest.dependency ?? rest.kind ?? ''}`.trim(),
      );
    },
  };
}
