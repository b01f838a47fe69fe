// Each shipped alert fires when its cause is broken. Prometheus' own promtool evaluates the rules, over figures as the break leaves them.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { requireTool, skipWithout } from '../helpers/tool.ts';

const rulesPath = fileURLToPath(new URL('../../deploy/monitoring/alerts.yaml', import.meta.url));

/** A figure and its value each minute, as promtool writes it: `0+10x30` grows by 10 a minute. */
type Figures = Readonly<Record<string, string>>;
interface Break {
  readonly what: string;
  readonly figures: Figures;
}

const on = (name: string, labels = ''): string => `${name}{job="underpass",instance="edge-1:9443"${labels}}`;

const breaks: Readonly<Record<string, Break>> = {
  UnderpassDown: { what: 'an edge is killed', figures: { [on('up')]: '1x5 0x40' } },
  UnderpassEdgeNotReady: { what: 'a new edge starts with a wrong key', figures: { [on('underpass_edge_ready')]: '0x40' } },
  UnderpassEdgeWithoutControl: { what: 'control is stopped', figures: { [on('underpass_edge_feed_connected')]: '1x5 0x40' } },
  UnderpassHopsBreak: {
    what: 'packets of the hop port are dropped',
    figures: { [on('underpass_edge_hops', ',state="silent"')]: '0x5 1x40' },
  },
  UnderpassEdgeCopyNotKept: { what: 'the disk of an edge is full', figures: { [on('underpass_edge_copy_kept')]: '1x5 0x40' } },
  UnderpassTcpPortsClosed: {
    what: 'another program has the port of a tunnel',
    figures: { [on('underpass_edge_tcp_port_problems', ',reason="taken"')]: '0x5 1x40' },
  },
  UnderpassFeedFlaps: {
    what: 'a proxy ends the feed each minute',
    figures: { [on('underpass_edge_feed_losses_total')]: '0+1x40' },
  },
  UnderpassClientsGone: { what: "a region's certificate is bad", figures: { [on('underpass_edge_clients')]: '100x28 10x12' } },
  UnderpassCallsFail: {
    what: 'Postgres refuses writes',
    figures: {
      [on('underpass_calls_total', ',call="createTunnel",status="503"')]: '0+10x400',
      [on('underpass_calls_total', ',call="getMeta",status="200"')]: '0+100x400',
    },
  },
  UnderpassCallsSlow: {
    what: 'Postgres takes 2 s',
    figures: {
      [on('underpass_call_seconds_bucket', ',call="createTunnel",le="1"')]: '0+10x400',
      [on('underpass_call_seconds_bucket', ',call="createTunnel",le="2.5"')]: '0+100x400',
      [on('underpass_call_seconds_bucket', ',call="createTunnel",le="+Inf"')]: '0+100x400',
    },
  },
  UnderpassJobsWait: { what: 'the mail server refuses', figures: { [on('underpass_jobs_waiting')]: '0x2 20x38' } },
  UnderpassDependencyAway: {
    what: 'NATS is stopped',
    figures: { [on('underpass_dependency_answers', ',dependency="bus"')]: '1x5 0x40' },
  },
  UnderpassBackupLate: {
    what: 'the timer of the backup is off',
    figures: { [on('underpass_backup_due_timestamp_seconds')]: '-7200x40' },
  },
  UnderpassClockJumped: { what: 'the clock is set a year ahead', figures: { [on('underpass_expiry_waits')]: '0x5 1x40' } },
  UnderpassCertificateEnds: {
    what: 'port 80 is closed until the certificate is nearly over',
    figures: { [on('underpass_certificate_expiry_timestamp_seconds', ',region="eu",kind="host"')]: '432000x400' },
  },
  UnderpassCertificatesMissing: {
    what: "a file for the region's host is missing",
    figures: { [on('underpass_certificates_missing', ',region="eu",kind="host"')]: '0x2 1x40' },
  },
  UnderpassCertificateOrdersFail: {
    what: 'the authority refuses',
    figures: { [on('underpass_certificate_orders_total', ',outcome="failed",kind="host"')]: '0+1x40' },
  },
  UnderpassTunnelsBreak: {
    what: 'clients are cut off while they answer',
    figures: { [on('underpass_edge_visitor_errors_total', ',code="UNDERPASS_CLIENT_LOST"')]: '0+120x40' },
  },
  UnderpassBusy: {
    what: 'a tunnel gets more requests than it may carry',
    figures: { [on('underpass_edge_visitor_errors_total', ',code="UNDERPASS_BUSY"')]: '0+120x40' },
  },
  UnderpassEventLoopLags: { what: 'the CPU is taken', figures: { [on('nodejs_eventloop_lag_p99_seconds')]: '0.01x5 0.5x40' } },
  UnderpassFilesRunOut: {
    what: 'LimitNOFILE is too low',
    figures: { [on('process_open_fds')]: '90x40', [on('process_max_fds')]: '100x40' },
  },
  UnderpassEdgeFull: {
    what: 'a crowd of visitors',
    figures: { [on('underpass_edge_open_connections')]: '90x40', [on('underpass_edge_open_connections_limit')]: '100x40' },
  },
};

/** Certificates that end soon are told after an hour; all others by the 40th minute. */
const evalTime = (alert: string): string => (alert === 'UnderpassCertificateEnds' ? '90m' : '40m');

/** Which alerts fire. */
function firing(alert: string, { what, figures }: Break): object {
  const series = Object.entries(figures).map(([name, values]) => ({ series: name, values }));
  const expr = 'count by (alertname) (ALERTS{alertstate="firing"})';
  const samples = [{ labels: `{alertname="${alert}"}`, value: 1 }];
  return {
    name: `${alert}: ${what}`,
    interval: '1m',
    input_series: series,
    promql_expr_test: [{ expr, eval_time: evalTime(alert), exp_samples: samples }],
  };
}

test('each shipped alert fires on its break, and no other alert does', { skip: skipWithout('promtool') }, (t) => {
  const { groups } = parse(readFileSync(rulesPath, 'utf8')) as { groups: readonly { rules: readonly { alert: string }[] }[] };
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
  assert.deepEqual(alerts.toSorted(), Object.keys(breaks).toSorted());
  const folder = mkdtempSync(join(tmpdir(), 'underpass-alerts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'breaks.yaml');
  const tests = Object.entries(breaks).map(([alert, each]) => firing(alert, each));
  writeFileSync(path, stringify({ rule_files: [rulesPath], evaluation_interval: '1m', tests }));
  const { status, stdout, stderr } = spawnSync(requireTool('promtool'), ['test', 'rules', path], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(status, 0, `${stdout}${stderr}`);
});
