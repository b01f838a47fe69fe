// Side panels and dialogs with a form: the failure above its fields, Cancel and the submit button below.
import { type ComponentType, type ReactNode, use, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/overlay/dialog.tsx';
import { DialogActions } from '../ui/overlay/dialog-actions.tsx';
import type { DialogProps } from '../ui/overlay/dialog-frame.tsx';
import { LeaveQuestion } from '../ui/overlay/leave-question.tsx';
import { PanelActions, PanelBody, ProgressBar, SidePanel } from '../ui/overlay/side-panel.tsx';
import { LayerContext, useLeave } from '../unsaved/use-unsaved.ts';
import { FormFailure } from './form-failure.tsx';
import type { Form } from './use-form.ts';

type Frame = ComponentType<
  Pick<DialogProps, 'open' | 'onOpenChange' | 'title' | 'description' | 'className' | 'flush' | 'children'>
>;
type Texts = Pick<DialogProps, 'title' | 'description' | 'className'>;

interface Overlay {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

/** What the form of a panel or a dialog gets besides its own. */
export interface InOverlay {
  /** Closes the overlay. */
  readonly onDone: () => void;
}

const createFormOverlay = (Frame: Frame, flush: boolean) =>
  function formOverlay<Props extends InOverlay>(texts: Texts | ((props: Props) => Texts), Form: ComponentType<Props>) {
    return function FormOverlay({ open, onOpenChange, ...rest }: Overlay & Omit<Props, 'onDone'>) {
      const props = { ...rest, onDone: () => onOpenChange(false) } as unknown as Props;
      const shown = typeof texts === 'function' ? texts(props) : texts;
      const opening = useOpening(open);
      return (
        <Frame {...shown} {...(flush && { flush })} open={open} onOpenChange={onOpenChange}>
          <Form key={opening} {...props} />
        </Frame>
      );
    };
  };

/** Counts the openings: each starts with fresh fields, even while the last one still slides out. */
function useOpening(open: boolean): number {
  const [last, setLast] = useState({ open, count: 0 });
  if (last.open !== open) setLast({ open, count: last.count + Number(open) });
  return last.count;
}

/** A side panel with a `PanelForm`. */
export const formPanel = createFormOverlay(SidePanel as Frame, false);

/** A dialog with a `DialogForm`. */
export const formDialog = createFormOverlay(Dialog, true);

interface OverlayFormProps {
  readonly form: Pick<Form<object>, 'ref' | 'busy' | 'failure' | 'dismissFailure' | 'onSubmit'>;
  readonly submitLabel: string;
  /** False disables the submit button. */
  readonly ready?: boolean;
  readonly onCancel: () => void;
  /** What failed, above the reason. */
  readonly failureTitle?: string;
  readonly failureAction?: ReactNode;
  readonly children: ReactNode;
}

export function PanelForm(props: OverlayFormProps) {
  const { form, children } = props;
  return (
    <form ref={form.ref} noValidate onSubmit={form.onSubmit} className="relative flex min-h-0 flex-1 flex-col">
      {form.busy && <ProgressBar />}
      <PanelBody>
        <FormFailure form={form} title={props.failureTitle} action={props.failureAction} />
        {children}
      </PanelBody>
      <PanelActions>
        <Buttons {...props} />
      </PanelActions>
    </form>
  );
}

export function DialogForm(props: OverlayFormProps) {
  const { form, children } = props;
  return (
    <>
      <form ref={form.ref} noValidate onSubmit={form.onSubmit}>
        <div className="grid gap-4 px-5 pb-5 sm:px-6 sm:pb-6">
          <FormFailure form={form} title={props.failureTitle} action={props.failureAction} />
          {children}
        </div>
        <DialogActions>
          <Buttons {...props} />
        </DialogActions>
      </form>
      <LeaveQuestion layer={use(LayerContext)} />
    </>
  );
}

function Buttons({ form, submitLabel, ready = true, onCancel }: OverlayFormProps) {
  const leave = useLeave();
  return (
    <>
      <Button onClick={() => leave(onCancel)}>Cancel</Button>
      <Button type="submit" variant="primary" busy={form.busy} disabled={!ready}>
        {submitLabel}
      </Button>
    </>
  );
}
