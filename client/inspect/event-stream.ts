// Reads server-sent events as they pass (WHATWG HTML 9.2), within a bound on each event.

import type { EventView } from '@underpass/rules/inspect/exchange.ts';
import { HeldBytes } from '@underpass/wire/http/held-bytes.ts';
import { inspectLimits } from './exchange-log.ts';

type Event = Omit<EventView, 'atMs'>;

const lf = 10;
const cr = 13;

export class EventStreamReader {
  readonly #onEvent: (event: Event) => void;
  /** The line that is not complete; what is beyond the limit is dropped. */
  #line: HeldBytes | null = null;
  #afterCr = false;
  #isFirstLine = true;
  #data: string[] = [];
  #dataLength = 0;
  #event = '';
  #lastEventId = '';
  #isCut = false;

  constructor(onEvent: (event: Event) => void) {
    this.#onEvent = onEvent;
  }

  take(bytes: Uint8Array, from: number, to: number): void {
    let start = from;
    for (let i = from; i < to; i++) {
      const octet = bytes[i];
      if (octet !== lf && octet !== cr) {
        this.#afterCr = false;
        continue;
      }
      if (octet === lf && this.#afterCr) {
        this.#afterCr = false;
        start = i + 1;
        continue;
      }
      this.#keep(bytes, start, i);
      this.#endLine();
      this.#afterCr = octet === cr;
      start = i + 1;
    }
    this.#keep(bytes, start, to);
  }

  #keep(bytes: Uint8Array, from: number, to: number): void {
    const room = Math.min(to - from, inspectLimits.frameBytes - (this.#line?.length ?? 0));
    if (room < to - from) this.#isCut = true;
    if (room <= 0) return;
    const piece = bytes.subarray(from, from + room);
    if (this.#line === null) this.#line = new HeldBytes(piece, inspectLimits.frameBytes);
    else this.#line.add(piece);
  }

  #endLine(): void {
    const line = this.#line?.all.toString('utf8') ?? '';
    this.#line = null;
    const text = this.#isFirstLine ? line.replace(/^\ufeff/, '') : line;
    this.#isFirstLine = false;
    if (text === '') this.#dispatch();
    else this.#field(text);
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#addData(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#lastEventId = value;
  }

  #addData(value: string): void {
    const room = inspectLimits.frameBytes - this.#dataLength;
    if (value.length > room) this.#isCut = true;
    if (room <= 0) return;
    this.#data.push(value.slice(0, room));
    this.#dataLength += value.length + 1;
  }

  #dispatch(): void {
    if (this.#data.length > 0) {
      this.#onEvent({
        event: this.#event || 'message',
        lastEventId: this.#lastEventId,
        data: this.#data.join('\n'),
        isCut: this.#isCut,
      });
    }
    this.#data = [];
    this.#dataLength = 0;
    this.#event = '';
    this.#isCut = false;
  }
}
