// What passed through one tunnel in the last 5 minutes (spec 9), in fixed memory: a ring of time slots. Pure: the caller
// passes the time.

import type { TunnelMetrics } from '@underpass/rules/entity/entity.ts';

export const windowMs = 300_000;
const slotMs = 10_000;
/** One more than the window has, because the oldest slot is only partly inside the window. */
const slotCount = windowMs / slotMs + 1;

export interface Traffic {
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly connections: number;
}

interface Slot {
  index: number;
  rxBytes: number;
  txBytes: number;
  connections: number;
}

export type RateWindow = readonly Slot[];

export const createRateWindow = (): RateWindow =>
  Array.from({ length: slotCount }, () => ({ index: -1, rxBytes: 0, txBytes: 0, connections: 0 }));

export function addTraffic(window: RateWindow, nowMs: number, traffic: Traffic): void {
  const index = Math.floor(nowMs / slotMs);
  const slot = window[index % slotCount];
  if (slot === undefined) return;
  if (slot.index !== index) Object.assign(slot, { index, rxBytes: 0, txBytes: 0, connections: 0 });
  slot.rxBytes += traffic.rxBytes;
  slot.txBytes += traffic.txBytes;
  slot.connections += traffic.connections;
}

/** Averages over the whole window, per second: a burst counts for five minutes. */
export function ratesOf(window: RateWindow, nowMs: number): TunnelMetrics {
  const newest = Math.floor(nowMs / slotMs);
  const live = window.filter((slot) => slot.index <= newest && slot.index > newest - slotCount);
  const perSecond = (read: (slot: Slot) => number): number => live.reduce((sum, slot) => sum + read(slot), 0) / (windowMs / 1000);
  return {
    rx: perSecond((slot) => slot.rxBytes),
    tx: perSecond((slot) => slot.txBytes),
    tcpConnectionRate: perSecond((slot) => slot.connections),
  };
}

/** Adds the rates of several edges. */
export function addRates(one: TunnelMetrics, other: TunnelMetrics): TunnelMetrics {
  return {
    rx: one.rx + other.rx,
    tx: one.tx + other.tx,
    tcpConnectionRate: one.tcpConnectionRate + other.tcpConnectionRate,
  };
}

export const isQuiet = (rates: TunnelMetrics): boolean => rates.rx === 0 && rates.tx === 0 && rates.tcpConnectionRate === 0;
