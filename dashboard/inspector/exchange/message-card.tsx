// A request or a response: body, headers, query parameters, one at a time.

import type { Side } from '@underpass/rules/inspect/calls.ts';
import type { Exchange, MessageView } from '@underpass/rules/inspect/exchange.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { useState } from 'react';
import { Card } from '../../ui/card.tsx';
import { Segmented } from '../../ui/input/segmented.tsx';
import { Body } from './body.tsx';
import { Headers, Pairs } from './headers.tsx';

type Part = 'body' | 'headers' | 'query';

/** The person's choice holds for the requests that they open next. */
const chosen: { [side in Side]?: Part } = {};

interface MessageCardProps {
  readonly side: Side;
  readonly exchange: Exchange;
  readonly isRevealed: boolean;
  readonly onReveal: (reveal: boolean) => void;
}

export function MessageCard({ side, exchange, isRevealed, onReveal }: MessageCardProps) {
  const message = exchange[side] as MessageView;
  const query = side === 'request' ? queryOf(exchange.target) : [];
  const [choice, setChoice] = useState(chosen[side]);
  const parts = partsOf(message, query.length);
  const part = parts.find(({ value }) => value === choice)?.value ?? (message.body.shape === 'none' ? 'headers' : 'body');
  const choose = (next: Part) => {
    chosen[side] = next;
    setChoice(next);
  };
  return (
    <Card
      title={side === 'request' ? 'Request' : 'Response'}
      description={[message.version, message.body.mediaType, message.body.bytes > 0 && formatSize(message.body.bytes)]
        .filter(Boolean)
        .join(', ')}
      actions={<Segmented label={`Parts of the ${side}`} value={part} options={parts} onChange={choose} />}
    >
      {part === 'body' && <Body exchange={exchange} side={side} body={message.body} />}
      {part === 'headers' && <Headers headers={message.headers} isRevealed={isRevealed} onReveal={onReveal} />}
      {part === 'query' && <Pairs label="Query parameters" pairs={query} />}
    </Card>
  );
}

const partsOf = (message: MessageView, parameters: number): readonly { readonly value: Part; readonly label: string }[] => [
  { value: 'body', label: 'Body' },
  { value: 'headers', label: `Headers ${message.headers.length}` },
  ...(parameters > 0 ? [{ value: 'query', label: `Query ${parameters}` } as const] : []),
];

function queryOf(target: string): readonly (readonly [string, string])[] {
  const at = target.indexOf('?');
  return at < 0 ? [] : [...new URLSearchParams(target.slice(at))];
}
