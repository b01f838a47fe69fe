// What inspect and replay print for people: a row for each request of the list, and all of one request.

import type { EventView, Exchange, ExchangeSummary, FrameView } from '@underpass/rules/inspect/exchange.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { renderFields } from '../terminal/output.ts';

/** `showHost`: the client carries several tunnels. */
export function renderRow(exchange: ExchangeSummary, showHost: boolean): string {
  const { id, startedAtMs, method, host, target, status, durationMs, visitorAddress, visitorProgram } = exchange;
  const size = `${formatSize(exchange.requestBytes)} in, ${formatSize(exchange.responseBytes)} out`;
  const time = new Date(startedAtMs).toISOString().slice(11, 19);
  const outcome = exchange.error?.code ?? String(status ?? '');
  const duration = durationMs === null ? 'open' : `${Math.round(durationMs)} ms`;
  const from = exchange.replayOf === null ? `${visitorAddress} ${visitorProgram}` : `replay of #${exchange.replayOf}`;
  const signature = exchange.signature === null ? '' : `  signature ${exchange.signature}`;
  const asked = `${method} ${showHost ? host : ''}${target}`;
  return `${time}  #${id}  ${asked}  ${outcome}  ${duration}  ${size}  ${from.trim()}${signature}`;
}

export function renderExchange(exchange: Exchange): string {
  const { request, response, error, signatureCheck, timing } = exchange;
  const ms = (value: number | null) => (value === null ? 'unknown' : `${value.toFixed(1)} ms`);
  const way = `edge ${ms(timing.edgeMs)}, tunnel ${ms(timing.tunnelMs)}, `;
  const fields = renderFields([
    ['Request', `#${exchange.id} at ${new Date(exchange.startedAtMs).toISOString()}`],
    [
      'Visitor',
      exchange.replayOf === null ? `${exchange.visitorAddress} ${exchange.visitorProgram}` : `replay of #${exchange.replayOf}`,
    ],
    ['Tunnel', `${exchange.tunnel} (${exchange.host})`],
    ['Upstream', exchange.sentHost ? `${exchange.upstream} with Host ${exchange.sentHost}` : exchange.upstream],
    ['Time', `${exchange.replayOf === null ? way : ''}upstream ${ms(exchange.durationMs)}`],
    ...(error === null
      ? []
      : [
          ['Error', `${error.title} ${error.detail}`.trim()] as const,
          ['Code', error.code] as const,
          ['Fix', error.fix] as const,
        ]),
    ...(signatureCheck === null ? [] : [['Signature', `${signatureCheck.scheme}: ${signatureCheck.explanation}`] as const]),
  ]);
  const answer =
    response === null
      ? ''
      : `\n\n${response.version} ${response.status} ${response.reason}\n${renderMessage(response, exchange.events.length === 0)}`;
  const head = `${exchange.method} ${exchange.target} ${request.version}`;
  return `${fields}\n\n${head}\n${renderMessage(request)}${answer}${renderPassed(exchange)}`;
}

/** The frames of a WebSocket or the events of a stream, a line each. Events stand in place of the body that they make. */
function renderPassed({ frames, droppedFrames, events, droppedEvents }: Exchange): string {
  const passed = [...frames.map(renderFrame), ...events.map(renderEvent)];
  if (passed.length === 0) return '';
  const dropped = droppedFrames + droppedEvents;
  const older = dropped === 0 ? [] : [`(${dropped} older ones are no longer kept)`];
  return `\n\n${[...older, ...passed].join('\n')}`;
}

function renderFrame({ atMs, from, kind, bytes, text, closeCode, isCut }: FrameView): string {
  const what = `${kind}${closeCode === null ? '' : ` ${closeCode}`}`;
  return passedLine(atMs, `${from.padEnd(8)}  ${what.padEnd(6)}`, text ?? `(${formatSize(bytes)})`, isCut && text !== null);
}

function renderEvent({ atMs, event, lastEventId, data, isCut }: EventView): string {
  return passedLine(atMs, `${event}${lastEventId === '' ? '' : ` ${lastEventId}`}`, data, isCut);
}

/** Data of several lines stays in its column. */
function passedLine(atMs: number, what: string, data: string, isCut: boolean): string {
  const start = `${(atMs / 1_000).toFixed(3).padStart(9)} s  ${what}  `;
  return `${start}${data.replace(/\r?\n/g, `\n${' '.repeat(start.length)}`)}${isCut ? ' (cut)' : ''}`.trimEnd();
}

function renderMessage({ headers, body }: Exchange['request'], withBody = true): string {
  const lines = headers.map(([name, value]) => `${name}: ${value ?? '(hidden: --reveal)'}`);
  if (!withBody) return lines.join('\n');
  const cut = body.isCut ? '\n(cut)' : '';
  const text = body.text ?? (body.shape === 'none' ? '' : `(${body.shape}, ${formatSize(body.bytes)})`);
  return `${lines.join('\n')}\n\n${text}${cut}`.trimEnd();
}
