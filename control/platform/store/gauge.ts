// A figure for Prometheus. It is read at each scrape, mostly from the store; while the store is away, it has no value.

import { Gauge, type Registry } from 'prom-client';
import { unlessOutage } from './outage.ts';

export type Reading<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number];

export function addGauge<Label extends string = never>(
  registry: Registry,
  { name, help, labels = [] }: { readonly name: string; readonly help: string; readonly labels?: readonly Label[] },
  read: () => readonly Reading<Label>[] | Promise<readonly Reading<Label>[]>,
): void {
  new Gauge({
    ...{ registers: [registry], name, help, labelNames: [...labels] },
    async collect() {
      if (labels.length === 0) this.remove();
      else this.reset();
      await unlessOutage(async () => {
        for (const [of, value] of await read()) this.set(of, value);
      });
    },
  });
}
