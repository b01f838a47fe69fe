// What `--distance` measures: its options, the cells of a run, their figures and what each must reach. Pure.
import { type Column, medianOf, ratioOf, type Sample } from './table.ts';

export type Carries = 'https' | 'tcp';

export interface Path {
  readonly roundTripMs: number;
  readonly lossPercent: number;
}

export const cases = ['page', 'bulk', 'api', 'spell', 'silence', 'visitors'] as const;
export type Case = (typeof cases)[number];

/** What one fresh start of each peer measures. */
export interface Trial {
  readonly case: Case;
  readonly carries: Carries;
  readonly http2: boolean;
  /** What `bulk` moves. */
  readonly transfer?: keyof typeof transfers;
}

/** Bytes of each stream. Uploads and eight downloads are one visitor's: over HTTP/2 where the edge speaks it. */
export const transfers = {
  one: { direction: 'down', streams: 1, bytes: 20_000_000, name: '20 MB' },
  down: { direction: 'down', streams: 8, bytes: 5_000_000, name: '8 downloads' },
  up: { direction: 'up', streams: 8, bytes: 5_000_000, name: '8 uploads' },
} as const;

export interface DistanceOptions {
  readonly congestion: readonly string[];
  readonly roundTripsMs: readonly number[];
  readonly lossPercents: readonly number[];
  readonly cases: readonly Case[];
  readonly carries: readonly Carries[];
  readonly rounds: number;
  readonly seconds: number;
  readonly silenceSeconds: number;
}

export interface DistanceTexts {
  readonly congestion?: string | undefined;
  readonly 'round-trips': string;
  readonly losses: string;
  readonly cases: string;
  readonly carries: string;
  readonly rounds?: string | undefined;
  readonly seconds?: string | undefined;
  readonly silence: string;
}

/** Throws the text that the user reads. `allowed` are the congestion controls that a namespace may choose. */
export function parseDistance(texts: DistanceTexts, allowed: readonly string[]): DistanceOptions {
  return {
    congestion:
      texts.congestion === undefined
        ? ['reno', 'cubic', 'bbr'].filter((name) => allowed.includes(name))
        : parseWords('--congestion', texts.congestion),
    roundTripsMs: parseNumbers('--round-trips', texts['round-trips'], 0, 2_000),
    lossPercents: parseNumbers('--losses', texts.losses, 0, 50),
    cases: parseWords('--cases', texts.cases, cases),
    carries: parseCarries(texts.carries),
    rounds: parseWhole('--rounds', texts.rounds ?? '3', 1, 100),
    seconds: parseNumber('--seconds', texts.seconds ?? '3', 0.5, 120),
    silenceSeconds: parseNumber('--silence', texts.silence, 0, 600),
  };
}

export const parseCarries = (text: string): readonly Carries[] => parseWords('--carries', text, ['https', 'tcp']);

function parseWords<T extends string>(option: string, text: string, known?: readonly T[]): readonly T[] {
  const words = text.split(',').map((word) => word.trim());
  const wrong = words.find((word) => word === '' || (known !== undefined && !known.includes(word as T)));
  if (wrong !== undefined) throw new Error(`${option}: '${wrong}' is not one of ${known?.join(', ') ?? 'its words'}`);
  return [...new Set(words)] as T[];
}

function parseNumbers(option: string, text: string, least: number, most: number): readonly number[] {
  return [...new Set(text.split(',').map((part) => parseNumber(option, part, least, most)))];
}

function parseNumber(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most))
    throw new Error(`${option}: '${text}' is not a number from ${least} to ${most}`);
  return value;
}

function parseWhole(option: string, text: string, least: number, most: number): number {
  const value = parseNumber(option, text, least, most);
  if (!Number.isInteger(value)) throw new Error(`${option}: '${text}' is not a whole number`);
  return value;
}

export const pathsOf = ({ roundTripsMs, lossPercents }: DistanceOptions): readonly Path[] =>
  roundTripsMs.flatMap((roundTripMs) => lossPercents.map((lossPercent) => ({ roundTripMs, lossPercent })));

/** A lossy spell and silence have a path of their own in mind: one that loses nothing otherwise. */
export function trialsOf({ cases, carries }: Pick<DistanceOptions, 'cases' | 'carries'>, path: Path): readonly Trial[] {
  const here = cases.filter((name) => path.lossPercent === 0 || (name !== 'spell' && name !== 'silence'));
  return carries.flatMap((kind) => here.flatMap((name) => trialsOfCase(name, kind)));
}

function trialsOfCase(name: Case, carries: Carries): readonly Trial[] {
  const http2 = carries === 'https';
  switch (name) {
    case 'page':
    case 'silence':
      return [false, true].map((http2) => ({ case: name, carries, http2 }));
    case 'bulk':
      return (['one', 'down', 'up'] as const).map((transfer) => ({
        case: name,
        carries,
        http2: http2 && transfer !== 'one',
        transfer,
      }));
    case 'api':
      return [{ case: name, carries, http2: false }];
    case 'spell':
      return [{ case: name, carries, http2 }];
    case 'visitors':
      return carries === 'https' ? [{ case: name, carries, http2 }] : [];
  }
}

export type TrialFigure = Omit<Column, 'bound'>;
const ms = (name: string): TrialFigure => ({ name, unit: 'ms', better: 'less' });
const speed = (name: string): TrialFigure => ({ name, unit: 'MB/s', better: 'more' });

/** Figures in the order in which a trial measures them. */
export function figuresOf({ case: name, http2, transfer }: Trial): readonly TrialFigure[] {
  const page = `page, HTTP/${http2 ? 2 : 1.1}`;
  switch (name) {
    case 'page':
      return [ms(`${page}, first`), ms(`${page}, later`)];
    case 'silence':
      return [ms(`${page}, after silence`)];
    case 'bulk':
      return [speed(transfers[transfer as keyof typeof transfers].name)];
    case 'api':
      return [
        ms('small call at rest, p50'),
        ms('small call at rest, p99'),
        ms('small call beside a download, p50'),
        ms('small call beside a download, p99'),
      ];
    case 'spell':
      return [ms(`${page}, after a lossy spell`), speed('20 MB, after a lossy spell')];
    case 'visitors':
      return [
        ms('far visitor, first byte, new visit'),
        ms('far visitor, first byte, with a session ticket'),
        ms('far visitor, page, HTTP/1.1'),
        ms('far visitor, page, HTTP/2'),
        speed('far visitor, 20 MB'),
      ];
  }
}

const pathName = ({ roundTripMs, lossPercent }: Path): string => `${roundTripMs} ms, ${lossPercent} %`;
export const onPath = (path: Path, figure: TrialFigure): TrialFigure => ({
  ...figure,
  name: `${pathName(path)}: ${figure.name}`,
});

export const columnsOf = (options: DistanceOptions, carries: Carries): readonly TrialFigure[] =>
  pathsOf(options).flatMap((path) =>
    trialsOf({ ...options, carries: [carries] }, path).flatMap((trial) => figuresOf(trial).map((figure) => onPath(path, figure))),
  );

/** How many times as good as the baseline a figure must be. Where all use BBR, loss is no advantage for anybody. */
export const goalOf = (path: Path, congestion: string): number => (path.lossPercent === 0 || congestion === 'bbr' ? 1 : 3);

/** The figures in which `peer` is behind its goal, worst first. What the distance itself costs no proxy can halve: a call's goal is 1. */
export function shortfallsOf(
  samples: readonly Sample[],
  options: DistanceOptions,
  { carries, congestion, peer, baseline }: { carries: Carries; congestion: string; peer: string; baseline: string },
): readonly string[] {
  const behind = pathsOf(options).flatMap((path) =>
    trialsOf({ ...options, carries: [carries] }, path).flatMap((trial) =>
      figuresOf(trial).flatMap((figure) => {
        const goal = trial.case === 'api' || trial.case === 'visitors' ? 1 : goalOf(path, congestion);
        const column = onPath(path, figure);
        const times = timesAsGood(samples, peer, baseline, column);
        return times < goal ? [{ times, text: `${column.name}: ${times.toFixed(2)} of ${goal}` }] : [];
      }),
    ),
  );
  return behind.sort((a, b) => a.times - b.times).map(({ text }) => text);
}

/** A ratio: above 1 is better than the baseline, whichever way the figure reads. */
function timesAsGood(samples: readonly Sample[], peer: string, baseline: string, { name, better }: TrialFigure): number {
  const ratio = ratioOf(samples, peer, baseline, name);
  return better === 'more' ? ratio : 1 / ratio;
}

/** One row for each figure, one column for each peer: the median, and how many times as good as the baseline it is. */
export function renderGrid(
  samples: readonly Sample[],
  columns: readonly TrialFigure[],
  peers: readonly string[],
  baseline: string,
): string {
  const cell = (peer: string, column: TrialFigure): string => {
    const value = medianOf(samples, peer, column.name);
    if (Number.isNaN(value)) return '';
    const times = timesAsGood(samples, peer, baseline, column);
    return peer === baseline || Number.isNaN(times) ? digits(value) : `${digits(value)} (${digits(times)})`;
  };
  return [
    `| | ${peers.map((peer) => (peer === baseline ? peer : `${peer} (× ${baseline})`)).join(' | ')} |`,
    `| --- |${' ---: |'.repeat(peers.length)}`,
    ...columns.map((column) => `| ${column.name}, ${column.unit} | ${peers.map((peer) => cell(peer, column)).join(' | ')} |`),
  ].join('\n');
}

const digits = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : Number(value.toPrecision(value >= 10 ? 3 : 2)).toString();
