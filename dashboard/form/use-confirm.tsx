// Asks before a destructive action, runs it, and confirms it with a toast. If the action fails, the question stays open.
import { confirms } from '@underpass/rules/people/account.ts';
import { type ReactNode, useState } from 'react';
import { useRevalidator } from 'react-router';
import { Failure } from '../api/failure.tsx';
import { useNavigateOrReload } from '../api/use-navigate-or-reload.ts';
import { useTask } from '../api/use-task.ts';
import { focusHeading } from '../ui/hand-over-focus.ts';
import { Field } from '../ui/input/field.tsx';
import { Input } from '../ui/input/input.tsx';
import { ConfirmDialog } from '../ui/overlay/confirm-dialog.tsx';
import { toast } from '../ui/overlay/toast.tsx';

export interface Question {
  readonly title: string;
  /** Says what is lost. */
  readonly warning: ReactNode;
  readonly confirmLabel: string;
  /** Shown between the warning and the buttons. */
  readonly detail?: ReactNode;
  /** The text that the user types to enable the button, and the label of that field. */
  readonly proof?: { readonly label: string; readonly text: string };
  /** Gets the typed text. */
  readonly work: (typed: string) => Promise<unknown>;
  /** The toast after success. */
  readonly done: string;
  /** The page to open after success, if this page is then gone. */
  readonly leadsTo?: string;
}

export interface Confirm {
  readonly ask: (question: Question) => void;
  /** Render it anywhere in the page. */
  readonly dialog: ReactNode;
}

export function useConfirm(): Confirm {
  const [question, setQuestion] = useState<Question>();
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const { revalidate } = useRevalidator();
  const navigateOrReload = useNavigateOrReload();
  const task = useTask(async () => {
    await question?.work(typed);
    setOpen(false);
    toast.done(question?.done ?? '');
    keepFocusInPage();
    if (question?.leadsTo === undefined) await revalidate();
    else await navigateOrReload(question.leadsTo);
  });
  const ask = (next: Question) => {
    task.dismiss();
    setTyped('');
    setQuestion(next);
    setOpen(true);
  };
  const dialog = question && (
    <ConfirmDialog
      open={open}
      onOpenChange={setOpen}
      title={question.title}
      warning={question.warning}
      confirmLabel={question.confirmLabel}
      busy={task.busy}
      ready={question.proof === undefined || confirms(typed, question.proof.text)}
      onConfirm={task.run}
    >
      {question.detail}
      <Failure task={task} />
      {question.proof && (
        <Field label={question.proof.label}>
          {(control) => (
            <Input {...control} autoComplete="off" value={typed} onChange={(event) => setTyped(event.target.value)} />
          )}
        </Field>
      )}
    </ConfirmDialog>
  );
  return { ask, dialog };
}

/** Longer than any list takes to reload. */
const watchedMs = 5000;

/** The row with the button that opened the dialog may disappear. The focus then goes to the page's heading. */
function keepFocusInPage(): void {
  const observer = new MutationObserver(focusHeading);
  observer.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), watchedMs);
}
