// The tunnel's traffic over an hour, a day or a week: charts, each with a summary in words.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { HistoryRange, TunnelHistory } from '@underpass/rules/entity/resource.ts';
import { text } from '@underpass/rules/text/text.ts';
import { useMemo, useState } from 'react';
import { askFor } from '../../api/answers.ts';
import { messageOf } from '../../api/error.ts';
import { every, useAgain } from '../../api/use-again.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Chart, ChartSkeleton } from '../../ui/chart/chart.tsx';
import { Segmented } from '../../ui/input/segmented.tsx';
import { answerTitles } from './answer-series.ts';
import { AnswerCharts } from './answers.tsx';
import { bytesChart, chartTitles, connectionsChart, summarise } from './traffic-series.ts';

const ranges = [
  { value: 'hour', label: 'Hour' },
  { value: 'day', label: 'Day' },
  { value: 'week', label: 'Week' },
] as const;

/** Control records history once a minute. */
const refreshes = every(60_000);

export const firstRange = 'hour';

export const askHistory = (project: string, name: string, range: HistoryRange) =>
  askFor(tunnelCalls.getHistory, { project, name, range }, { background: true });

export function Traffic({ project, tunnel }: { readonly project: string; readonly tunnel: Tunnel }) {
  const [range, setRange] = useState<HistoryRange>(firstRange);
  const history = useFetched(askHistory(project, tunnel.name, range));
  useAgain(history.reload, refreshes);
  return (
    <Card title="Traffic" actions={<Segmented label="Range" value={range} onChange={setRange} options={ranges} />}>
      {history.error !== undefined && !history.data ? (
        <Banner
          tone="danger"
          title={text.error.metrics}
          action={
            <Button size="sm" busy={history.busy} onClick={history.reload}>
              {text.error.retry}
            </Button>
          }
        >
          {messageOf(history.error)}
        </Banner>
      ) : (
        <Charts history={history.data} range={range} tunnel={tunnel} />
      )}
    </Card>
  );
}

interface ChartsProps {
  readonly history: TunnelHistory | undefined;
  readonly range: HistoryRange;
  /** The metrics strip shows its metrics. */
  readonly tunnel: Tunnel;
}

function Charts({ history, range, tunnel: { type, metrics } }: ChartsProps) {
  // Stable objects: a chart redraws only when its data changes.
  const shown = useMemo(() => history && { bytes: bytesChart(history), connections: connectionsChart(history) }, [history]);
  const hasAnswers = type === 'http';
  if (!shown || !history) return <LoadingCharts hasAnswers={hasAnswers} />;
  const summary = summarise(history, range, metrics);
  return (
    <div className="grid gap-6">
      <div className={sideBySide}>
        <Chart chart={shown.bytes} summary={summary.bytes} />
        <Chart chart={shown.connections} summary={summary.connections} />
      </div>
      {hasAnswers && <AnswerCharts history={history} range={range} metrics={metrics} />}
    </div>
  );
}

const sideBySide = 'grid gap-6 lg:grid-cols-2';

function LoadingCharts({ hasAnswers }: { readonly hasAnswers: boolean }) {
  const titles = [...Object.values(chartTitles), ...(hasAnswers ? Object.values(answerTitles) : [])];
  return (
    <div role="status" className={sideBySide}>
      <span className="sr-only">Loading traffic</span>
      {titles.map((title) => (
        <ChartSkeleton key={title} title={title} />
      ))}
    </div>
  );
}
