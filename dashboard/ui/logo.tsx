// The logo: a road that passes under a bridge. public/favicon.svg is the same drawing.

interface MarkProps {
  readonly size?: number;
}

/** Decorative: the name is beside it, or on the link around it. */
function LogoMark({ size = 28 }: MarkProps) {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 32 32" className="shrink-0">
      <rect width="32" height="32" rx="7" className="fill-accent" />
      <path d="M0 6h32v4H0z" className="fill-on-accent" />
      <path d="M7.5 32V21.5a8.5 8.5 0 0 1 17 0V32z" className="fill-on-accent" />
      <path d="M16 17v3.5M16 23.5V27M16 30v2" className="stroke-accent" strokeWidth="2.4" />
    </svg>
  );
}

/** Mark and name. The name has the colour of the surrounding text. */
export function Logo({ size = 28 }: MarkProps) {
  return (
    <span className="inline-flex items-center gap-2.5">
      <LogoMark size={size} />
      <span className="font-bold text-lg tracking-tight">Underpass</span>
    </span>
  );
}
