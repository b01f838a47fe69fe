// deploy/monitoring against a started product: alerts and dashboard name only metrics and labels that it exports.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { visitorErrors } from '@underpass/edge/core/visitor-error.ts';
import { calls } from '@underpass/rules/api/calls.ts';
import { parse } from 'yaml';
import { freePorts } from '../helpers/port.ts';
import { startProduct } from '../helpers/product.ts';

const read = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../deploy/monitoring/${name}`, import.meta.url)), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const { groups } = parse(read('alerts.yaml')) as { groups: readonly { rules: readonly Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('grafana.json')) as { panels: readonly Panel[]; templating: { list: { query: unknown }[] } };
const panelQueries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const variableQuery = 'process_start_time_seconds{job=~"(.*/)?underpass.*"}';
const queries = [...rules.map(({ expr }) => expr), ...panelQueries, variableQuery];

/** Keywords and functions of PromQL; every other word outside quotes and braces is a metric name. */
const language = new Set(
  'sum by max min rate increase time changes topk histogram_quantile min_over_time offset and or unless on ignoring'.split(' '),
);
/** Prometheus adds this metric for every target. */
const prometheusOwn = ['up'];

function metricsIn(query: string): string[] {
  const bare = query
    .replace(/\{[^}]*\}/g, ' ')
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/\bby \([^)]*\)/g, ' ')
    .replace(/offset \w+/g, ' ');
  return [...bare.matchAll(/[a-zA-Z_][a-zA-Z0-9_]*/g)].map(([word]) => word).filter((word) => !language.has(word));
}

function matchersIn(query: string): { label: string; operator: string; value: string }[] {
  const braces = [...query.matchAll(/\{([^}]*)\}/g)].map(([, inside = '']) => inside);
  return braces.flatMap((inside) =>
    [...inside.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label = '', operator = '', value = '']) => ({
      label,
      operator,
      value,
    })),
  );
}

/** Every name that a scrape can contain, with the three of each histogram. */
function exportedNames(scrape: string): Set<string> {
  const types = [...scrape.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  const names = types.flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  return new Set([...names, ...prometheusOwn]);
}

/** The metrics of a product after one API call and one visit to an unknown host. */
async function scrapeProduct(t: TestContext): Promise<string> {
  const [port = 0] = await freePorts(1);
  const product = await startProduct(t, { env: { UNDERPASS_METRICS_PORT: String(port) } });
  await fetch(`${product.origin}/api/meta`);
  await fetch(`http://127.0.0.1:${product.ports.http}/`, { headers: { host: 'nobody.example.com' } });
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

test('deploy/monitoring', async (t) => {
  const scrape = await scrapeProduct(t);
  const exported = exportedNames(scrape);

  await t.test('alerts and dashboard name only metrics that a started product exports', () => {
    const unknown = queries.flatMap((query) => metricsIn(query).filter((name) => !exported.has(name)));
    assert.deepEqual(unknown, []);
  });

  await t.test('alerts and dashboard match only labels and values that exist', () => {
    const known: Record<string, (value: string) => boolean> = {
      job: () => true,
      instance: () => true,
      dependency: (value) => ['database', 'bus', 'mail'].includes(value),
      kind: (value) => ['host', 'wildcard', 'tunnel', 'console'].includes(value),
      state: (value) => ['working', 'silent', 'unreachable'].includes(value),
      outcome: (value) => ['issued', 'failed'].includes(value),
      status: (value) => /^[1-5]/.test(value),
      code: (value) => Object.hasOwn(visitorErrors, value),
      // `site`: pages, sign-in and health checks.
      call: (value) => value.split('|').every((name) => name === 'site' || Object.hasOwn(calls, name)),
    };
    for (const { label, value } of queries.flatMap(matchersIn)) assert.ok(known[label]?.(value), `${label}="${value}"`);
    assert.match(scrape, /underpass_calls_total\{call="getMeta",status="200"\}/);
  });

  await t.test('the dashboard or an alert shows every metric of Underpass', () => {
    const used = new Set(queries.flatMap(metricsIn).map((name) => name.replace(/_bucket$/, '')));
    const own = [...scrape.matchAll(/^# TYPE (underpass_\S+)/gm)].map(([, name = '']) => name);
    assert.ok(own.length > 10);
    assert.deepEqual(
      own.filter((name) => !used.has(name)),
      [],
    );
  });

  await t.test('docs/operations.md names exactly the exported metrics of Underpass', () => {
    const page = readFileSync(fileURLToPath(new URL('../../docs/operations.md', import.meta.url)), 'utf8');
    const named = new Set([...page.matchAll(/`(underpass_[a-z_]+)`/g)].map(([, name = '']) => name));
    const own = [...scrape.matchAll(/^# TYPE (underpass_\S+)/gm)].map(([, name = '']) => name);
    assert.deepEqual([...named].sort(), own.sort());
  });

  await t.test('every alert links to a paragraph of docs/operations.md', () => {
    const page = readFileSync(fileURLToPath(new URL('../../docs/operations.md', import.meta.url)), 'utf8');
    const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'));
    for (const { alert, annotations } of rules) {
      const [url, anchor = ''] = annotations.runbook_url.split('#');
      assert.equal(url, 'https://github.com/underpass/underpass/blob/main/docs/operations.md');
      assert.ok(anchors.includes(anchor), `${alert}: #${anchor}`);
    }
  });

  await t.test('every alert has a duration, a severity, a summary and a description', () => {
    for (const { alert, expr, for: wait, labels, annotations } of rules) {
      assert.match(alert, /^Underpass[A-Z][A-Za-z]+$/);
      assert.ok(['page', 'ticket'].includes(labels.severity), alert);
      assert.ok(annotations.summary.length > 10 && annotations.description.length > 20, alert);
      assert.ok(wait !== undefined || /\[\d+m\]/.test(expr), `${alert} fires without a delay`);
      assert.equal((expr.match(/\(/g) ?? []).length, (expr.match(/\)/g) ?? []).length, alert);
    }
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  });
});
