// A message in the page that can be dismissed.
import clsx from 'clsx';
import { CircleAlert, CircleCheck, Info, TriangleAlert, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from './button.tsx';

type BannerTone = 'info' | 'ok' | 'warn' | 'danger';

const tones: Record<BannerTone, string> = {
  info: 'border-info/40 bg-info-soft text-info',
  ok: 'border-ok/40 bg-ok-soft text-ok',
  warn: 'border-warn/40 bg-warn-soft text-warn',
  danger: 'border-danger/40 bg-danger-soft text-danger',
};
const icons = { info: Info, ok: CircleCheck, warn: TriangleAlert, danger: CircleAlert } as const;

interface BannerProps {
  readonly tone?: BannerTone;
  readonly title?: ReactNode;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  readonly onDismiss?: () => void;
  readonly className?: string;
}

/** Screen readers announce danger and warn immediately, the others at the next pause. */
export function Banner({ tone = 'info', title, children, action, onDismiss, className }: BannerProps) {
  const Icon = icons[tone];
  const urgent = tone === 'danger' || tone === 'warn';
  return (
    <div
      role={urgent ? 'alert' : 'status'}
      className={clsx('flex items-start gap-3 rounded-md border px-3.5 py-3', tones[tone], className)}
    >
      <Icon aria-hidden="true" className="mt-0.5 size-5 shrink-0" />
      <div className="flex min-w-0 flex-1 flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-0 flex-[1_1_14rem] text-base wrap-anywhere text-ink">
          {title && <p className="font-semibold">{title}</p>}
          {children && <div>{children}</div>}
        </div>
        {action}
      </div>
      {onDismiss && (
        <IconButton label="Dismiss" icon={<X aria-hidden="true" />} onClick={onDismiss} className="-my-1 text-current" />
      )}
    </div>
  );
}
