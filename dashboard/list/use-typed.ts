// The text of a search field whose value lives in the address: shown at once, and sent on while the person types.
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useLocation, useNavigationType } from 'react-router';
import { typedState } from './list-address.ts';

/** Safari refuses more than 100 changes of the address in 10 s. */
const sendEveryMs = 110;

interface Typed {
  readonly text: string;
  /** True for a text of the address. */
  readonly isSent: boolean;
}

export function useTyped(value: string, send: (text: string) => void): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState<Typed>({ text: value, isSent: true });
  const sentAt = useRef(Number.NEGATIVE_INFINITY);
  const onSend = useEffectEvent(send);
  const { key, state } = useLocation();
  const isTyped = useNavigationType() !== 'POP' && state === typedState;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new key is a new address, by Back or by a button.
  useEffect(() => {
    if (!isTyped) setTyped({ text: value, isSent: true });
  }, [key]);
  useEffect(() => {
    if (typed.isSent) return;
    const timer = setTimeout(
      () => {
        sentAt.current = performance.now();
        onSend(typed.text);
      },
      sentAt.current + sendEveryMs - performance.now(),
    );
    return () => clearTimeout(timer);
  }, [typed]);
  return [typed.text, (text) => setTyped({ text, isSent: false })];
}
