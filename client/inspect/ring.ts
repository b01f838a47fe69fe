// A list from whose front most items leave, in one array that is used again and again.
// A Map links each table that it has outgrown to the next one. Once the first of them is old, V8's small collections keep that
// whole chain and all that was ever in it: measured, an exchange then costs 4.8 instead of 2.9 µs.

export class Ring<Item> {
  readonly #slots: (Item | undefined)[];
  #first = 0;
  size = 0;

  constructor(capacity: number) {
    this.#slots = new Array<Item | undefined>(capacity).fill(undefined);
  }

  #slot(index: number): number {
    const slot = this.#first + index;
    return slot < this.#slots.length ? slot : slot - this.#slots.length;
  }

  at(index: number): Item | undefined {
    return index < this.size ? this.#slots[this.#slot(index)] : undefined;
  }

  /** The caller keeps to the capacity. */
  push(item: Item): void {
    this.#slots[this.#slot(this.size++)] = item;
  }

  /** Moves the items before it. */
  remove(index: number): void {
    for (let to = index; to > 0; to--) this.#slots[this.#slot(to)] = this.#slots[this.#slot(to - 1)];
    this.#slots[this.#first] = undefined;
    this.#first = this.#slot(1);
    this.size--;
  }

  *items(): Generator<Item, void> {
    for (let index = 0; index < this.size; index++) yield this.at(index) as Item;
  }
}
