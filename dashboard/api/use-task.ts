// An action that a person starts: whether it runs, and its error. A failure keeps the input of the form.
import { useCallback, useRef, useState } from 'react';

export interface Task<Input extends readonly unknown[]> {
  readonly busy: boolean;
  /** The error of the last run; undefined after a success or dismiss(). */
  readonly error: unknown;
  readonly run: (...input: Input) => Promise<void>;
  readonly dismiss: () => void;
}

/** Ignores run() while a run is in progress, so a double click creates one tunnel. */
export function useTask<Input extends readonly unknown[]>(work: (...input: Input) => Promise<void>): Task<Input> {
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: undefined });
  const running = useRef(false);
  const run = async (...input: Input) => {
    if (running.current) return;
    running.current = true;
    setState({ busy: true, error: undefined });
    const error = await work(...input).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    running.current = false;
    setState({ busy: false, error });
  };
  const dismiss = useCallback(() => setState(({ busy }) => ({ busy, error: undefined })), []);
  return { ...state, run, dismiss };
}
