// Whether an element has come into sight: what is heavy is fetched then, not before.
import { type RefObject, useEffect, useState } from 'react';

/** Becomes true once and stays so. */
export function useInView(ref: RefObject<Element | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (seen || !ref.current) return;
    const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [seen, ref]);
  return seen;
}
