// The form of a side panel or a dialog: the failure above its fields, Cancel and the submit button below. The panel mounts it when it
// opens, so every opening starts with an empty form.
import { type ReactNode, use } from 'react';
import { Button } from '../ui/button.tsx';
import { DialogActions } from '../ui/overlay/dialog-actions.tsx';
import { LeaveQuestion } from '../ui/overlay/leave-question.tsx';
import { PanelActions, PanelBody, ProgressBar } from '../ui/overlay/side-panel.tsx';
import { LayerContext, useLeave } from '../unsaved/use-unsaved.ts';
import { FormFailure } from './form-failure.tsx';
import type { Form } from './use-form.ts';

export interface OverlayFormProps {
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
        <Cancel onCancel={props.onCancel} />
        <Submit {...props} />
      </PanelActions>
    </form>
  );
}

/** Give the dialog `flush`: its foot belongs to the form. */
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
          <Cancel onCancel={props.onCancel} />
          <Submit {...props} />
        </DialogActions>
      </form>
      <LeaveQuestion layer={use(LayerContext)} />
    </>
  );
}

/** Closes the panel or dialog around it. */
export function Cancel({ onCancel }: Pick<OverlayFormProps, 'onCancel'>) {
  const leave = useLeave();
  return <Button onClick={() => leave(onCancel)}>Cancel</Button>;
}

function Submit({ form, submitLabel, ready = true }: OverlayFormProps) {
  return (
    <Button type="submit" variant="primary" busy={form.busy} disabled={!ready}>
      {submitLabel}
    </Button>
  );
}
