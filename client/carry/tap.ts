// How the inspector listens to a visitor's stream beside the relay. Without an inspector there is no tap and no cost.

import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import type { Stream } from '@underpass/wire/api.ts';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import type { OpenRequest } from '@underpass/wire/core/open.ts';
import type { Times } from '@underpass/wire/core/times.ts';
import type { Problem } from './problem.ts';

/** Bytes are lent for the call. A tap must not change them, and must not throw. */
export interface Tap {
  /** The upstream accepted the connection. */
  connected(): void;
  /** Bytes from the visitor. */
  rx(bytes: Buffer): void;
  /** Bytes from the upstream. */
  tx(bytes: Uint8Array): void;
  /** The upstream ended its direction. May be called twice. */
  txEnd(): void;
  /** The visitor ended theirs. */
  rxEnd(): void;
  /** Times of the request that was answered last, at the edge. */
  times(times: Times): void;
  failed(problem: Problem): void;
  /** The edge reset the stream, or its carrier was lost. */
  reset(code: ResetCode): void;
  /** The last call. */
  closed(): void;
}

/** See OfferedUpstream. */
interface TappedUpstream {
  readonly upstream: Upstream;
  readonly sentHost?: string;
  readonly path?: string;
  readonly routes?: readonly TappedUpstream[];
}

/** Null if the stream is of no interest. */
export type OpenTap = (request: OpenRequest, upstream: TappedUpstream) => Tap | null;

/** The tap hears each call of the stream before its callbacks and methods do. Call it once the callbacks are set. */
export function tapStream(stream: Stream, tap: Tap): void {
  const { onData, onEnd, onReset, onClose } = stream;
  stream.onData = (chunk) => {
    tap.rx(chunk);
    onData(chunk);
  };
  stream.onEnd = () => {
    tap.rxEnd();
    onEnd();
  };
  stream.onTimes = (times) => tap.times(times);
  stream.onReset = (code) => {
    tap.reset(code);
    onReset(code);
  };
  stream.onClose = () => {
    tap.closed();
    onClose();
  };
  const [write, end] = [stream.write.bind(stream), stream.end.bind(stream)];
  stream.write = (chunk) => {
    tap.tx(chunk);
    return write(chunk);
  };
  stream.end = () => {
    tap.txEnd();
    end();
  };
}
