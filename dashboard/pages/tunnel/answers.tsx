// The answers of an http tunnel over an hour, a day or a week: how many had which status, and how long the first byte took where.
import type { TunnelMetrics } from '@underpass/rules/entity/entity.ts';
import type { HistoryRange, TunnelHistory } from '@underpass/rules/entity/resource.ts';
import type { FirstBytePart } from '@underpass/rules/tunnel/figures.ts';
import { useMemo, useState } from 'react';
import { Chart } from '../../ui/chart/chart.tsx';
import { Segmented } from '../../ui/input/segmented.tsx';
import {
  answersChart,
  answerTitles,
  firstByteChart,
  firstByteRows,
  isLate,
  lateText,
  type PartRow,
  partLabels,
  summariseAnswers,
} from './answer-series.ts';

const parts = (Object.keys(partLabels) as FirstBytePart[]).map((value) => ({ value, label: partLabels[value] }));

interface AnswersProps {
  readonly history: TunnelHistory;
  readonly range: HistoryRange;
  /** What the metrics strip shows. */
  readonly metrics: TunnelMetrics | undefined;
}

export function AnswerCharts({ history, range, metrics }: AnswersProps) {
  const [part, setPart] = useState<FirstBytePart>('total');
  const answers = useMemo(() => answersChart(history), [history]);
  const firstByte = useMemo(() => firstByteChart(history, part), [history, part]);
  const rows = firstByteRows(history.whole);
  const late = isLate(history, metrics) ? lateText : undefined;
  return (
    <>
      <div className="grid gap-6 lg:grid-cols-2">
        <Chart chart={answers} summary={late ?? summariseAnswers(history.whole, range)} />
        <Chart
          chart={firstByte}
          summary={
            rows.length === 0
              ? (late ?? `No upstream answered in the last ${range}.`)
              : `${partLabels[part]}: ${partTexts[part]}.`
          }
        />
      </div>
      {rows.length > 0 && (
        <div className="grid gap-3">
          <div className="flex flex-wrap items-center justify-between gap-2">
            <h3 className="text-sm font-semibold">
              {answerTitles.firstByte}, last {range}
            </h3>
            <Segmented label="Part in the chart" value={part} onChange={setPart} options={parts} />
          </div>
          <PartTable rows={rows} shown={part} />
        </div>
      )}
    </>
  );
}

const partTexts: Readonly<Record<FirstBytePart, string>> = {
  total: 'from the head of a request at the edge to the first byte of the answer',
  edge: 'until the edge had a client for the request',
  tunnel: 'the last measured round trip between edge and client',
  upstream: 'the rest: the upstream, and the client beside it',
};

function PartTable({ rows, shown }: { readonly rows: readonly PartRow[]; readonly shown: FirstBytePart }) {
  return (
    <table className="w-full max-w-xl text-sm tabular">
      <thead>
        <tr className="border-b text-right text-ink-soft">
          <th scope="col" className="py-1 text-left font-semibold">
            Part
          </th>
          {['p50', 'p95', 'p99'].map((name) => (
            <th key={name} scope="col" className="py-1 pl-3 font-semibold">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ part, label, values }) => (
          <tr key={part} className="border-b text-right last:border-0">
            <th scope="row" className={`py-1 text-left ${part === shown ? 'font-semibold' : 'font-normal'}`}>
              {label}
            </th>
            {values.map((value, at) => (
              <td key={['p50', 'p95', 'p99'][at]} className="py-1 pl-3">
                {value}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
