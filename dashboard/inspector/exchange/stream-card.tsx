// Server-sent events and WebSocket frames, oldest first, as they pass.
import type { EventView, Exchange, FrameView } from '@underpass/rules/inspect/exchange.ts';
import { indentJson } from '@underpass/rules/inspect/indent-json.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { countOf, formatDuration } from '../core/format.ts';

/** The newest entries to render; more on demand. */
const step = 50;

export function StreamCard({ exchange }: { readonly exchange: Exchange }) {
  const isSocket = exchange.kind === 'websocket';
  const count = isSocket ? exchange.frames.length : exchange.events.length;
  const dropped = isSocket ? exchange.droppedFrames : exchange.droppedEvents;
  const [shown, setShown] = useState(step);
  const first = Math.max(0, count - shown);
  const noun = isSocket ? 'frame' : 'event';
  return (
    <Card
      flush
      title={isSocket ? 'Frames' : 'Events'}
      description={`${countOf(count, noun)}${dropped > 0 ? `, ${countOf(dropped, 'older one')} dropped` : ''}`}
      actions={exchange.state === 'open' && <Badge dot="ring">Open</Badge>}
    >
      {first > 0 && (
        <div className="px-4 pb-3 sm:px-5">
          <Button size="sm" onClick={() => setShown(shown + step * 4)}>
            Show {Math.min(first, step * 4)} earlier
          </Button>
        </div>
      )}
      {count === 0 ? (
        <p className="px-4 pb-4 text-base text-ink-soft sm:px-5">Nothing has passed yet.</p>
      ) : (
        <ol className="border-t">
          {isSocket
            ? numbered(exchange.frames, first, dropped).map(([number, frame]) => <Frame key={number} frame={frame} />)
            : numbered(exchange.events, first, dropped).map(([number, event]) => <Event key={number} event={event} />)}
        </ol>
      )}
    </Card>
  );
}

/** Adds their numbers since the start of the stream, which stay when older ones are dropped. */
const numbered = <Entry,>(entries: readonly Entry[], first: number, dropped: number): readonly (readonly [number, Entry])[] =>
  entries.slice(first).map((entry, at) => [dropped + first + at, entry]);

function Frame({ frame }: { readonly frame: FrameView }) {
  const isUp = frame.from === 'visitor';
  const Arrow = isUp ? ArrowUp : ArrowDown;
  return (
    <Line atMs={frame.atMs} text={textOf(frame)} isCut={frame.isCut}>
      <Arrow
        role="img"
        aria-label={isUp ? 'From the visitor' : 'From the upstream'}
        className={`size-4 shrink-0 ${isUp ? 'text-info' : 'text-ok'}`}
      />
      <span className="w-14 shrink-0 font-semibold">{frame.kind}</span>
      <span className="w-16 shrink-0 text-right text-ink-soft tabular max-sm:hidden">{formatSize(frame.bytes)}</span>
    </Line>
  );
}

function textOf({ kind, text, base64, closeCode }: FrameView): string {
  if (kind === 'close') return [closeCode, text].filter(Boolean).join(' ');
  return text ?? (base64 === null ? '' : hexOf(base64));
}

const hexOf = (base64: string): string =>
  Array.from(atob(base64), (character) => character.charCodeAt(0).toString(16).padStart(2, '0')).join(' ');

function Event({ event }: { readonly event: EventView }) {
  return (
    <Line atMs={event.atMs} text={event.data} isCut={event.isCut}>
      <span className="max-w-40 shrink-0 truncate font-semibold" title={event.event}>
        {event.event}
      </span>
      {event.lastEventId !== '' && <span className="max-w-24 shrink-0 truncate text-ink-soft">id {event.lastEventId}</span>}
    </Line>
  );
}

interface LineProps {
  readonly atMs: number;
  readonly text: string;
  readonly isCut: boolean;
  readonly children: ReactNode;
}

/** A long text opens below its line. */
const mostShort = 60;

function Line({ atMs, text, isCut, children }: LineProps) {
  const [isOpen, setOpen] = useState(false);
  const isLong = text.length > mostShort || text.includes('\n');
  const head = (
    <>
      <span className="w-18 shrink-0 text-right text-ink-soft tabular">+{formatDuration(atMs)}</span>
      {children}
      <span className="min-w-0 flex-1 truncate font-mono">{text.slice(0, 300)}</span>
    </>
  );
  return (
    <li className="border-b text-sm last:border-b-0">
      {isLong ? (
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex w-full items-center gap-3 px-4 py-1.5 text-left hover:bg-hover sm:px-5"
        >
          {head}
        </button>
      ) : (
        <div className="flex items-center gap-3 px-4 py-1.5 sm:px-5">{head}</div>
      )}
      {isOpen && (
        <pre className="mx-4 mb-2 rounded-md bg-sunken p-3 font-mono wrap-anywhere whitespace-pre-wrap sm:mx-5">
          {indentJson(text) ?? text}
          {isCut && '\n… the end is missing'}
        </pre>
      )}
    </li>
  );
}
