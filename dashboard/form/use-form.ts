// The state of a form: the typed values, what the rules say about them, and the result of the last submit. A failure keeps the values.
import type { ParsedForm } from '@underpass/rules/parsed.ts';
import { text } from '@underpass/rules/text/text.ts';
import { type FormEvent, type RefObject, useEffect, useEffectEvent, useRef, useState } from 'react';
import { messageOf } from '../api/error.ts';
import { useTask } from '../api/use-task.ts';
import { useUnsaved } from '../unsaved/use-unsaved.ts';
import { hasChanged } from './has-changed.ts';
import { keepLater } from './keep-later.ts';

type FieldOf<Values> = keyof Values & string;

export interface FormOptions<Values, Value> {
  readonly initial: Values;
  readonly parse: (values: Values) => ParsedForm<Value, FieldOf<Values>>;
  /** Rejects to keep the form open. `sent`: the values behind `value`. */
  readonly send: (value: Value, sent: Values) => Promise<unknown>;
  /** True if leaving would lose something. Without it: if a value differs from what the form started with or has sent. */
  readonly isChanged?: (values: Values) => boolean;
  /** False for a form that saves nothing, such as a test: leaving it asks nothing. */
  readonly asks?: boolean;
}

export interface Form<Values> {
  readonly ref: RefObject<HTMLFormElement | null>;
  readonly values: Values;
  readonly set: <Field extends FieldOf<Values>>(field: Field, value: Values[Field]) => void;
  /** Makes an edit that touches several fields. */
  readonly change: (edit: (values: Values) => Values) => void;
  /** Names a field whose value is still being computed (undefined: none). If only that field is missing, a submit waits for it. */
  readonly await: (field: FieldOf<Values> | undefined) => void;
  /** Empty until the first submit; from then on they follow the typing. */
  readonly errors: Readonly<Partial<Record<FieldOf<Values>, string>>>;
  readonly busy: boolean;
  readonly error: unknown;
  /** The text of `error`. */
  readonly failure: string | undefined;
  /** How many submits failed. */
  readonly failures: number;
  readonly dismissFailure: () => void;
  readonly onSubmit: (event: FormEvent) => void;
  /** Starts over, without messages. With `sent`, the fields that have changed since then stay. */
  readonly reset: (values: Values, sent?: Values) => void;
}

export function useForm<Values extends object, Value>(options: FormOptions<Values, Value>): Form<Values> {
  const { initial, parse, send } = options;
  const ref = useRef<HTMLFormElement>(null);
  const [values, setValues] = useState(initial);
  const [kept, setKept] = useState(initial);
  const [tries, setTries] = useState(0);
  const [failures, setFailures] = useState(0);
  const task = useTask(async (value: Value, sent: Values) => {
    await send(value, sent).catch((error: unknown) => {
      setFailures((before) => before + 1);
      // The values were valid: a used bot check, which the form drops, is no mistake of the user.
      setTries(0);
      throw error;
    });
    setKept(sent);
  });
  const { isChanged = (now: Values) => hasChanged(now, kept), asks = true } = options;
  const loss = task.busy ? 'sending' : isChanged(values) ? 'typed' : undefined;
  useUnsaved(asks ? loss : undefined);
  const parsed = parse(values);
  const errors = (tries > 0 && !parsed.ok ? parsed.errors : {}) as Form<Values>['errors'];
  useFocusOnFirstError(ref, tries);
  const submit = useSubmit(parsed, (value) => task.run(value, values));
  return {
    ref,
    values,
    set: (field, value) => setValues((before) => ({ ...before, [field]: value })),
    change: setValues,
    await: submit.await,
    errors,
    busy: task.busy || submit.held,
    error: task.error,
    failure: task.error === undefined ? undefined : (messageOf(task.error) ?? text.error.fallback),
    failures,
    dismissFailure: task.dismiss,
    onSubmit: (event) => {
      event.preventDefault();
      setTries(tries + 1);
      submit.run();
    },
    reset: (next, sent) => {
      setValues((now) => (sent === undefined ? next : keepLater(next, sent, now)));
      setKept(next);
      setTries(0);
      task.dismiss();
    },
  };
}

/** Sends a valid form. A submit that lacks only the awaited value is held until the value arrives or stops being awaited. */
function useSubmit<Value, Field extends string>(parsed: ParsedForm<Value, Field>, send: (value: Value) => void) {
  const [awaited, setAwaited] = useState<Field>();
  const [held, setHeld] = useState(false);
  const onHeldOver = useEffectEvent(() => {
    if (parsed.ok) send(parsed.value);
  });
  useEffect(() => {
    if (!held || awaited !== undefined) return;
    setHeld(false);
    onHeldOver();
  }, [held, awaited]);
  const run = () => {
    if (parsed.ok) send(parsed.value);
    else setHeld(awaited !== undefined && Object.keys(parsed.errors).every((field) => field === awaited));
  };
  return { held, run, await: setAwaited };
}

/** Moves the focus after a refused submit to the first field that needs a change. */
function useFocusOnFirstError(ref: RefObject<HTMLFormElement | null>, tries: number): void {
  useEffect(() => {
    if (tries > 0) ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [ref, tries]);
}
