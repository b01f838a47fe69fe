// What every illustration shares: size, ground line, theme colours. Illustrations are decorative.
import type { ReactNode } from 'react';

export function Scene({ children }: { readonly children: ReactNode }) {
  return (
    <svg
      aria-hidden="true"
      viewBox="0 0 220 132"
      className="h-33 w-55 max-w-full fill-none stroke-ink-faint"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      {children}
    </svg>
  );
}

/** The road that most scenes stand on, with its lane marking. */
export function Ground() {
  return (
    <>
      <path d="M8 112h204" />
      <path d="M20 122h18M58 122h18M96 122h18M134 122h18M172 122h18" className="stroke-line" />
    </>
  );
}

/** A street lamp. A lit one casts light in the accent colour. */
export function Lamp({ x, lit = true }: { readonly x: number; readonly lit?: boolean }) {
  return (
    <g transform={`translate(${x} 0)`}>
      {lit && <path d="M22 46 6 112h36L30 46z" className="fill-accent-soft stroke-none" />}
      <path d="M0 112V44a10 10 0 0 1 10-10h10" />
      <path d="M18 34h16l-3 9H21z" className={lit ? 'fill-accent' : 'fill-surface'} />
    </g>
  );
}
