// The messages of toast.tsx on the screen.
import { Toast as Base } from '@base-ui/react/toast';
import clsx from 'clsx';
import { CircleAlert, CircleCheck, X } from 'lucide-react';
import { useEffect } from 'react';
import { IconButton } from '../button.tsx';
import { type Notice, takeNotices } from './toast.tsx';

const shownMs = 6000;

const manager = Base.createToastManager();

function add({ type, title, description }: Notice): void {
  const urgent = type === 'failed';
  manager.add({ type, title, description, priority: urgent ? 'high' : 'low', timeout: urgent ? shownMs * 2 : shownMs });
}

export function ToastList() {
  useEffect(() => takeNotices(add), []);
  return (
    <Base.Provider toastManager={manager}>
      <Base.Portal>
        <Base.Viewport className="fixed inset-x-4 top-16 z-60 mx-auto grid max-w-sm gap-2 outline-none sm:top-auto sm:right-auto sm:bottom-6 sm:left-6 sm:w-96">
          <Toasts />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

function Toasts() {
  const { toasts } = Base.useToastManager();
  return toasts.map((item) => {
    const failed = item.type === 'failed';
    const Icon = failed ? CircleAlert : CircleCheck;
    return (
      <Base.Root
        key={item.id}
        toast={item}
        swipeDirection={['right', 'down']}
        className="rounded-md border bg-raised text-ink shadow-overlay transition duration-200 ease-out data-ending-style:opacity-0 data-limited:hidden data-starting-style:translate-y-3 data-starting-style:opacity-0"
      >
        <Base.Content className="flex items-start gap-3 px-3.5 py-3">
          <Icon aria-hidden="true" className={clsx('mt-0.5 size-5 shrink-0', failed ? 'text-danger' : 'text-ok')} />
          <div className="min-w-0 flex-1">
            <Base.Title className="text-base font-semibold wrap-anywhere" />
            <Base.Description className="text-sm wrap-anywhere text-ink-soft" />
          </div>
          <Base.Close render={<IconButton label="Dismiss" icon={<X aria-hidden="true" />} className="-my-1" />} />
        </Base.Content>
      </Base.Root>
    );
  });
}
