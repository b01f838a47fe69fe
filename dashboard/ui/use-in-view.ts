// Tells when an element comes into view, to load heavy code only then.
import { type RefObject, useEffect, useState } from 'react';

/** Stays true from then on. */
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
