// The settings of another program's file, each read at most once. What nobody read is left over: so every setting of the file is
// either in the result or named as one without a counterpart.

/** A file of another program as plain values. */
export interface ForeignFile {
  readonly root: unknown;
  readonly lineOf: (path: Path) => number;
  /** The name of a setting in the file, where it is not its path. */
  readonly nameOf?: (path: Path) => string | undefined;
}

export type Path = readonly (string | number)[];

/** A setting that has no counterpart, and why. It never holds the value, which may be a secret. */
export interface LeftOut {
  readonly line: number;
  readonly key: string;
  readonly why: string;
}

/** A sentence for each setting whose last keys match; the first match counts. */
export type Reasons = readonly (readonly [key: RegExp, why: string])[];

export interface Settings {
  has(...keys: readonly string[]): boolean;
  /** A text, number or switch as text. */
  text(key: string): string | undefined;
  /** The same of a list, or of one value alone. */
  texts(key: string): readonly string[];
  /** The settings below a key; empty if there are none. */
  below(key: string): Settings;
  /** The entries of a list of settings. */
  each(key: string): readonly Settings[];
  /** The entries of settings by name. */
  named(key: string): readonly (readonly [name: string, settings: Settings])[];
  /** Reads and forgets: these are as they would be anyway. */
  skip(...keys: readonly string[]): void;
  /** Names one setting, or all of these together, as without a counterpart. */
  leave(key: string, why: string): void;
  leaveAll(why: string): void;
  /** Whether no earlier tunnel of the file took this domain; from now on it is taken. */
  claim(domain: string): boolean;
}

interface OpenedSettings {
  readonly settings: Settings;
  readonly leftOut: (reasons: Reasons) => readonly LeftOut[];
}

export function openSettings({ root, lineOf, nameOf }: ForeignFile): OpenedSettings {
  const read = new Set<string>();
  const taken = new Set<string>();
  const named: LeftOut[] = [];
  const idOf = (path: Path): string => JSON.stringify(path);
  const keyOf = (path: Path): string => path.filter((part) => typeof part === 'string').join('.');
  const leave = (path: Path, why: string): void => {
    read.add(idOf(path));
    named.push({ line: lineOf(path), key: nameOf?.(path) ?? keyOf(path), why });
  };
  const settingsAt = (path: Path, value: unknown): Settings => {
    const map = isMap(value) ? value : {};
    // frp takes its keys in any case, and a password may stand behind one.
    const spelled = new Map(Object.keys(map).map((key) => [key.toLowerCase(), key]));
    const at = (key: string): Path => [...path, spelled.get(key.toLowerCase()) ?? key];
    const get = (key: string): unknown => map[spelled.get(key.toLowerCase()) ?? ''];
    const has = (key: string): boolean => spelled.has(key.toLowerCase());
    const take = (key: string): unknown => {
      read.add(idOf(at(key)));
      return get(key);
    };
    const entriesOf = (key: string): readonly Settings[] => {
      const list = get(key);
      return Array.isArray(list) ? list.map((item, index) => settingsAt([...at(key), index], item)) : [];
    };
    return {
      has: (...keys) => keys.some(has),
      text: (key) => (isScalar(get(key)) ? String(take(key)).trim() : undefined),
      texts: (key) =>
        [get(key)].flat().every(isScalar) && has(key) ? [take(key)].flat().map((item) => String(item).trim()) : [],
      below: (key) => settingsAt(at(key), get(key)),
      each: entriesOf,
      named: (key) => {
        const entries = get(key);
        return isMap(entries) ? Object.keys(entries).map((name) => [name, settingsAt([...at(key), name], entries[name])]) : [];
      },
      skip: (...keys) => keys.forEach(take),
      leave: (key, why) => (has(key) ? leave(at(key), why) : undefined),
      leaveAll: (why) => leave(path, why),
      claim: (domain) => !taken.has(domain) && taken.add(domain) !== undefined,
    };
  };
  const restOf = (path: Path, value: unknown, reasons: Reasons): LeftOut[] => {
    if (read.has(idOf(path)) || value === null) return [];
    if (isMap(value)) return Object.keys(value).flatMap((key) => restOf([...path, key], value[key], reasons));
    if (Array.isArray(value) && !(value.length > 0 && value.every(isScalar)))
      return value.flatMap((item, index) => restOf([...path, index], item, reasons));
    const key = keyOf(path);
    const why = reasons.find(([pattern]) => pattern.test(key))?.[1] ?? 'Underpass has no such setting';
    return [{ line: lineOf(path), key: nameOf?.(path) ?? key, why }];
  };
  return {
    settings: settingsAt([], root),
    leftOut: (reasons) => [...named, ...restOf([], root, reasons)].sort((a, b) => a.line - b.line),
  };
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}
