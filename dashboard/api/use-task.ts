// One thing a person sets going: running or not, and how it failed. What was typed stays where it was.
import { useCallback, useRef, useState } from 'react';

export interface Task<Input extends readonly unknown[]> {
  readonly busy: boolean;
  /** Of the last run; undefined after a success or a dismissal. */
  readonly error: unknown;
  readonly run: (...input: Input) => Promise<void>;
  readonly dismiss: () => void;
}

/** A second run while one is under way is ignored: a double click creates one tunnel. */
export function useTask<Input extends readonly unknown[]>(work: (...input: Input) => Promise<void>): Task<Input> {
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: undefined });
  const running = useRef(false);
  const latest = useRef(work);
  latest.current = work;
  const run = useCallback(async (...input: Input) => {
    if (running.current) return;
    running.current = true;
    setState({ busy: true, error: undefined });
    const error = await latest.current(...input).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    running.current = false;
    setState({ busy: false, error });
  }, []);
  const dismiss = useCallback(() => setState(({ busy }) => ({ busy, error: undefined })), []);
  return { ...state, run, dismiss };
}
