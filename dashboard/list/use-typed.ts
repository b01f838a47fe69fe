// The text of a search field whose value lives in the address: shown at once, and sent on while the person types.
import { useEffect, useRef, useState } from 'react';
import { useLocation, useNavigationType } from 'react-router';
import { typedState } from './list-address.ts';

/** Safari refuses more than 100 changes of the address in 10 s. */
const sendEveryMs = 110;

export function useTyped(value: string, send: (text: string) => void): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sentAt = useRef(Number.NEGATIVE_INFINITY);
  const latest = useRef(send);
  latest.current = send;
  const { key, state } = useLocation();
  const isTyped = useNavigationType() !== 'POP' && state === typedState;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new key is a new address, by Back or by a button.
  useEffect(() => {
    if (isTyped) return;
    clearTimeout(timer.current);
    setTyped(value);
  }, [key]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const onChange = (text: string) => {
    setTyped(text);
    clearTimeout(timer.current);
    const go = () => {
      sentAt.current = performance.now();
      latest.current(text);
    };
    const waitMs = sentAt.current + sendEveryMs - performance.now();
    if (waitMs <= 0) go();
    else timer.current = setTimeout(go, waitMs);
  };
  return [typed, onChange];
}
