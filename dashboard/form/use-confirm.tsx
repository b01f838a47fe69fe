// Asks before something is undone for good, does it, and says so. The question stays open where the deed failed.
import { confirms } from '@underpass/rules/account.ts';
import { type ReactNode, useState } from 'react';
import { useRevalidator } from 'react-router';
import { messageOf } from '../api/error.ts';
import { useLeadOn } from '../api/use-lead-on.ts';
import { useTask } from '../api/use-task.ts';
import { Banner } from '../ui/banner.tsx';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Input } from '../ui/input.tsx';
import { toast } from '../ui/toast.tsx';

export interface Question {
  readonly title: string;
  /** Names what is lost. */
  readonly warning: ReactNode;
  readonly confirmLabel: string;
  /** What has to be typed before the button works, and what its field is called. */
  readonly proof?: { readonly label: string; readonly text: string };
  /** Gets what was typed. */
  readonly work: (typed: string) => Promise<unknown>;
  /** What the toast says afterwards. */
  readonly done: string;
  /** Where this page has nothing to show any more. */
  readonly leadsTo?: string;
}

export interface Confirm {
  readonly ask: (question: Question) => void;
  /** Put it anywhere in the page. */
  readonly dialog: ReactNode;
}

export function useConfirm(): Confirm {
  const [question, setQuestion] = useState<Question>();
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const { revalidate } = useRevalidator();
  const leadOn = useLeadOn();
  const task = useTask(async () => {
    await question?.work(typed);
    setOpen(false);
    toast.done(question?.done ?? '');
    keepFocusInPage();
    if (question?.leadsTo === undefined) await revalidate();
    else await leadOn(question.leadsTo);
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
      {task.error !== undefined && <Banner tone="danger">{messageOf(task.error) ?? 'Please try again.'}</Banner>}
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

/** Longer than any list takes to come anew. */
const WATCHED_MS = 5000;

/** The button that opened the dialog may go with its row; whenever that happens the focus goes to the page's heading. */
function keepFocusInPage(): void {
  const observer = new MutationObserver(() => {
    if (document.activeElement === document.body) document.querySelector<HTMLElement>('main h1')?.focus();
  });
  observer.observe(document.body, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), WATCHED_MS);
}
