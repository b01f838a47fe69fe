// A strip of tabs that scrolls sideways where it is too narrow. A faded edge shows that the strip goes on.
import { type RefObject, useEffect, useState } from 'react';

/** Classes for the strip; `fades` of `useFades` are its attributes. */
export const stripClass =
  'overflow-x-auto scroll-px-10 data-more-before:[--before:2.5rem] data-more-after:[--after:2.5rem] ' +
  'data-more-before:[mask-image:var(--fades)] data-more-after:[mask-image:var(--fades)] ' +
  '[--fades:linear-gradient(to_right,transparent,black_var(--before,0px),black_calc(100%-var(--after,0px)),transparent)]';

interface Fades {
  readonly 'data-more-before': true | undefined;
  readonly 'data-more-after': true | undefined;
}

/** Follows the strip's scrolling and size. */
export function useFades(strip: RefObject<HTMLElement | null>): Fades {
  const [more, setMore] = useState({ before: false, after: false });
  useEffect(() => {
    const element = strip.current;
    if (!element) return;
    const look = () => {
      const left = element.scrollWidth - element.clientWidth - Math.abs(element.scrollLeft);
      const next = { before: Math.abs(element.scrollLeft) > 1, after: left > 1 };
      setMore((last) => (last.before === next.before && last.after === next.after ? last : next));
    };
    const size = new ResizeObserver(look);
    size.observe(element);
    for (const child of element.children) size.observe(child);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      size.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [strip]);
  return { 'data-more-before': more.before || undefined, 'data-more-after': more.after || undefined };
}
