// A form's state: what was typed, what a rule says about it, and how the sending went. What was typed survives every failure.
import type { ParsedForm } from '@underpass/rules/parsed.ts';
import { text } from '@underpass/rules/text.ts';
import { type FormEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { messageOf } from '../api/error.ts';
import { useTask } from '../api/use-task.ts';

type Values<Field extends string> = Readonly<Record<Field, string>>;

export interface FormOptions<Field extends string, Value> {
  readonly initial: Values<Field>;
  readonly parse: (values: Values<Field>) => ParsedForm<Value, Field>;
  /** Rejects where the form has to stay. */
  readonly send: (value: Value) => Promise<unknown>;
  readonly onFailure?: (error: unknown) => void;
}

export interface Form<Field extends string> {
  readonly ref: RefObject<HTMLFormElement | null>;
  readonly values: Values<Field>;
  readonly set: (field: Field, value: string) => void;
  /** The value of this field is on its way; undefined: of none any more. A submit that lacks nothing else waits for it, busy. */
  readonly await: (field: Field | undefined) => void;
  /** Empty until the first try; from then on they follow the typing. */
  readonly errors: Readonly<Partial<Record<Field, string>>>;
  readonly busy: boolean;
  /** The response text of the last failure. */
  readonly failure: string | undefined;
  readonly dismissFailure: () => void;
  readonly onSubmit: (event: FormEvent) => void;
  readonly reset: () => void;
}

export function useForm<Field extends string, Value>(options: FormOptions<Field, Value>): Form<Field> {
  const ref = useRef<HTMLFormElement>(null);
  const [values, setValues] = useState(options.initial);
  const [tries, setTries] = useState(0);
  const task = useTask(async (value: Value) => {
    await options.send(value).catch((error: unknown) => {
      options.onFailure?.(error);
      throw error;
    });
  });
  const parsed = options.parse(values);
  const errors: Partial<Record<Field, string>> = tries > 0 && !parsed.ok ? parsed.errors : {};
  useFocusOnFirstError(ref, tries);
  const submit = useSubmit(parsed, task.run);

  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    setTries(tries + 1);
    submit.run();
  };
  const reset = () => {
    setValues(options.initial);
    setTries(0);
  };
  const set = (field: Field, value: string) => setValues((before) => ({ ...before, [field]: value }));
  const failure = task.error === undefined ? undefined : (messageOf(task.error) ?? text.error.fallback);
  return {
    ref,
    values,
    set,
    await: submit.await,
    errors,
    busy: task.busy || submit.held,
    failure,
    dismissFailure: task.dismiss,
    onSubmit,
    reset,
  };
}

/** Sends what is whole. A submit that lacks the awaited value alone is held until that has come, or comes no more. */
function useSubmit<Field extends string, Value>(parsed: ParsedForm<Value, Field>, send: (value: Value) => void) {
  const [awaited, setAwaited] = useState<Field>();
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (!held || awaited !== undefined) return;
    setHeld(false);
    if (parsed.ok) send(parsed.value);
  });
  const run = () => {
    if (parsed.ok) send(parsed.value);
    else setHeld(awaited !== undefined && Object.keys(parsed.errors).every((field) => field === awaited));
  };
  return { held, run, await: setAwaited };
}

/** After a refused try the focus goes to the first field that has to change. */
function useFocusOnFirstError(ref: RefObject<HTMLFormElement | null>, tries: number): void {
  useEffect(() => {
    if (tries > 0) ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [ref, tries]);
}
