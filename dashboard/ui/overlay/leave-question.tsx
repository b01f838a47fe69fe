// The question before unsaved work is lost. The layer in front shows it: the page, a panel or a dialog.
import { useState } from 'react';
import type { Layer, Loss } from '../../unsaved/unsaved-work.ts';
import { unsaved, useQuestion } from '../../unsaved/use-unsaved.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';

const texts: Readonly<Record<Loss, QuestionText>> = {
  typed: {
    title: 'Discard what you entered?',
    warning: 'It is not saved.',
    cancelLabel: 'Keep editing',
    confirmLabel: 'Discard',
  },
  sending: {
    title: 'Close before the answer?',
    warning: 'What you entered is being sent. If that fails, you will not see it here.',
    cancelLabel: 'Keep open',
    confirmLabel: 'Close',
  },
};

interface QuestionText {
  readonly title: string;
  readonly warning: string;
  readonly cancelLabel: string;
  readonly confirmLabel: string;
}

export function LeaveQuestion({ layer }: { readonly layer: Layer }) {
  const question = useQuestion();
  const asks = question?.layer === layer;
  // The text stays while the dialog fades out.
  const [loss, setLoss] = useState<Loss>('typed');
  if (asks && question.loss !== loss) setLoss(question.loss);
  return (
    <ConfirmDialog
      {...texts[loss]}
      open={asks}
      onOpenChange={(open) => open || unsaved.answer(false)}
      onConfirm={() => unsaved.answer(true)}
    />
  );
}
