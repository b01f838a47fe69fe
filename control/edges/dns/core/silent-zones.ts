// Remembers zones whose name servers did not answer their last question, so that a caller asks the others first. Pure.

export interface SilentZones {
  /** When the last question began that has no answer yet, or got none; undefined for other zones. */
  readonly askedAt: (zone: string) => number | undefined;
  readonly ask: (zone: string, at: number) => void;
  readonly hear: (zone: string) => void;
}

/** `most`: beyond it, the zone asked longest ago goes. */
export function createSilentZones(most: number): SilentZones {
  const asked = new Map<string, number>();
  return {
    askedAt: (zone) => asked.get(zone),
    ask: (zone, at) => {
      asked.delete(zone);
      asked.set(zone, at);
      const [oldest] = asked.keys();
      if (asked.size > most && oldest !== undefined) asked.delete(oldest);
    },
    hear: (zone) => void asked.delete(zone),
  };
}
