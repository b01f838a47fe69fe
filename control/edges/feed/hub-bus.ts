// What control processes tell each other about the feed, each subject with its message. A process does not hear itself.

import { randomUUID } from 'node:crypto';
import type { Bus } from '../../platform/bus/bus.ts';
import type { EdgeAbout } from './edge-view.ts';
import type { LiveMark } from './region-state.ts';

export interface HubMessages {
  /** Names tunnels that changed in the store. */
  'feed.tunnels': { readonly ids: readonly string[] };
  /** Anything may have changed. */
  'feed.everything': object;
  /** Names that have new certificates. */
  'feed.certificates': { readonly names: readonly string[] };
  'feed.challenges': object;
  /** Addresses and networks that are blocked now, or no longer. */
  'feed.blocks': { readonly values: readonly string[] };
  /** The region or its keys changed. */
  'feed.region': { readonly region: string };
  /** The edges that are connected to the sender hold these routes. */
  'feed.held': { readonly marks: readonly LiveMark[] };
  /** All edges of the region hold these routes. */
  'feed.live': { readonly marks: readonly LiveMark[] };
  /** An edge that is connected to the sender works. */
  'feed.edge': { readonly about: EdgeAbout };
  /** A piece of an edge's report: report-relay.ts. */
  'feed.report': { readonly part: unknown };
  /** The same of a partial report. A process of an older version, which would take it for a whole one, does not listen. */
  'feed.partial': { readonly part: unknown };
}

export type HubHandlers = { readonly [S in keyof HubMessages]: (message: HubMessages[S], from: string) => void };

export interface HubBus {
  /** The name of this process among them. */
  readonly self: string;
  readonly publish: <S extends keyof HubMessages>(subject: S, message: HubMessages[S]) => void;
  /** Returns the function that stops it. */
  readonly listen: (handlers: HubHandlers) => () => void;
}

export function createHubBus(bus: Bus): HubBus {
  const self = randomUUID();
  const subscribe = <S extends keyof HubMessages>(subject: S, handle: HubHandlers[S]): (() => void) =>
    bus.subscribe(subject, (message) => {
      const from = (message as { from?: unknown } | null)?.from;
      if (typeof from === 'string' && from !== self) handle(message as HubMessages[S], from);
    });
  return {
    self,
    publish: (subject, message) => bus.publish(subject, { from: self, ...message }),
    listen: (handlers) => {
      const subjects = Object.keys(handlers) as (keyof HubMessages)[];
      const stops = subjects.map((subject) => subscribe(subject, handlers[subject]));
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}
