// Runs what the hub asks the state reader to read: one reading at a time, and requests that arrive during one are gathered.

import type { StateReader } from './state-reader.ts';

interface RefreshDeps {
  readonly reader: Pick<StateReader, 'tunnels' | 'certificates' | 'challenges' | 'blocks' | 'everything'>;
  /** Everything was read. */
  readonly onWhole: () => void;
  readonly onError: (error: unknown) => void;
}

export class Refresh {
  readonly #deps: RefreshDeps;
  readonly #ids = new Set<string>();
  readonly #names = new Set<string>();
  readonly #blocks = new Set<string>();
  #challenges = false;
  #everything = false;
  #running: Promise<void> | undefined;

  constructor(deps: RefreshDeps) {
    this.#deps = deps;
  }

  tunnels(ids: readonly string[]): void {
    for (const id of ids) this.#ids.add(id);
    this.#start();
  }

  certificates(names: readonly string[]): void {
    for (const name of names) this.#names.add(name);
    this.#start();
  }

  blocks(values: readonly string[]): void {
    for (const value of values) this.#blocks.add(value);
    this.#start();
  }

  challenges(): void {
    this.#challenges = true;
    this.#start();
  }

  everything(): void {
    this.#everything = true;
    this.#start();
  }

  /** Resolves when all requests are done. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #start(): void {
    this.#running ??= Promise.resolve().then(() => this.#run());
  }

  async #run(): Promise<void> {
    while (this.#everything || this.#challenges || this.#ids.size + this.#names.size + this.#blocks.size > 0)
      await this.#readOnce().catch(this.#deps.onError);
    this.#running = undefined;
  }

  async #readOnce(): Promise<void> {
    if (this.#everything) {
      this.#everything = false;
      await this.#deps.reader.everything(() => this.#readSmall());
      this.#deps.onWhole();
    }
    await this.#readSmall();
  }

  async #readSmall(): Promise<void> {
    const { reader } = this.#deps;
    const [ids, names, blocks] = [[...this.#ids], [...this.#names], [...this.#blocks]];
    const challenges = this.#challenges;
    this.#ids.clear();
    this.#names.clear();
    this.#blocks.clear();
    this.#challenges = false;
    if (blocks.length > 0) await reader.blocks(blocks);
    if (challenges) await reader.challenges();
    await reader.tunnels(ids);
    if (names.length > 0) await reader.certificates(names);
  }
}
