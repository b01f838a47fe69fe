// The one registry of unsaved work. Forms report to the layer they are in: the page, or a panel or dialog over it. Every way out asks
// here before it goes. Pure.

/** What leaving would lose: typed text, or the answer to what is being sent, because a failure shows only where the form is. */
export type Loss = 'typed' | 'sending';

/** The page, or a panel or dialog over it. */
export interface Layer {
  /** False for a layer that cannot show the question, such as the question itself. */
  readonly asks: boolean;
}

export interface LeavingQuestion {
  readonly loss: Loss;
  /** The layer that shows it: the topmost one that can. */
  readonly layer: Layer;
}

interface Asked extends LeavingQuestion {
  readonly from: Layer;
  readonly proceed: () => void;
  readonly stay: () => void;
}

interface Opened {
  readonly layer: Layer;
  readonly close: () => void;
}

export interface UnsavedWork {
  readonly page: Layer;
  /** Puts a layer on top. `close` closes it without a question. Returns its removal. */
  readonly open: (layer: Layer, close: () => void) => () => void;
  /** Says what a form would lose; undefined: nothing. */
  readonly report: (layer: Layer, form: object, loss: Loss | undefined) => void;
  /** What is lost with this layer and those over it. */
  readonly loss: (from: Layer) => Loss | undefined;
  /** Goes on, after a question if something would be lost. Ignored while another question is open. */
  readonly leave: (from: Layer, proceed: () => void, stay?: () => void) => void;
  readonly question: () => LeavingQuestion | undefined;
  readonly answer: (leaves: boolean) => void;
  /** True if something is open over the page. */
  readonly isCovered: () => boolean;
  /** Closes the topmost layer over the page. */
  readonly closeTop: () => void;
  /** True if a key or press is for this layer: the topmost one, and once for each event. */
  readonly claims: (layer: Layer, event: object) => boolean;
  readonly subscribe: (listener: () => void) => () => void;
}

export function createUnsavedWork(): UnsavedWork {
  const page: Layer = { asks: true };
  let opened: readonly Opened[] = [];
  let asked: Asked | undefined;
  let claimed: object | undefined;
  const reports = new Map<Layer, Map<object, Loss>>();
  const listeners = new Set<() => void>();

  const stack = () => [page, ...opened.map(({ layer }) => layer)];
  const lossOf = (from: Layer): Loss | undefined => {
    const layers = stack();
    if (!layers.includes(from)) return undefined;
    const losses = layers.slice(layers.indexOf(from)).flatMap((layer) => [...(reports.get(layer)?.values() ?? [])]);
    return losses.includes('sending') ? 'sending' : losses[0];
  };
  const settle = () => {
    // A question whose reason has changed is withdrawn: an answer has arrived, or its layer is gone.
    if (asked && (!stack().includes(asked.from) || lossOf(asked.from) !== asked.loss)) end(asked.stay);
    for (const listener of listeners) listener();
  };
  const end = (next: () => void) => {
    asked = undefined;
    for (const listener of listeners) listener();
    next();
  };
  const leave: UnsavedWork['leave'] = (from, proceed, stay = () => {}) => {
    const loss = lossOf(from);
    if (loss === undefined) return proceed();
    if (asked) return;
    asked = { loss, layer: stack().findLast(({ asks }) => asks) ?? page, from, proceed, stay };
    for (const listener of listeners) listener();
  };

  return {
    page,
    open: (layer, close) => {
      const entry = { layer, close };
      opened = [...opened, entry];
      settle();
      return () => {
        opened = opened.filter((other) => other !== entry);
        settle();
      };
    },
    report: (layer, form, loss) => {
      const forms = reports.get(layer) ?? new Map<object, Loss>();
      if (loss === undefined) forms.delete(form);
      else forms.set(form, loss);
      if (forms.size > 0) reports.set(layer, forms);
      else reports.delete(layer);
      settle();
    },
    loss: lossOf,
    leave,
    question: () => asked,
    answer: (leaves) => asked && end(leaves ? asked.proceed : asked.stay),
    isCovered: () => opened.length > 0,
    closeTop: () => {
      const top = opened.at(-1);
      if (top) leave(top.layer, top.close);
    },
    claims: (layer, event) => {
      if (stack().at(-1) !== layer || event === claimed) return false;
      claimed = event;
      return true;
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
