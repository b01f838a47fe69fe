// The card that deletes a project or an account, after the user types its name or address.
import { forgetSession } from '../session/session.ts';
import { Button } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import type { Confirm, Question } from './use-confirm.tsx';

interface DeleteCardProps extends Pick<Question, 'warning' | 'done'>, Required<Pick<Question, 'proof' | 'leadsTo'>> {
  readonly what: 'Project' | 'Account';
  /** What is deleted with it, and what stays. */
  readonly description: string;
  readonly remove: (typed: string) => Promise<unknown>;
  readonly ask: Confirm['ask'];
}

export function DeleteCard({ what, description, remove, ask, ...question }: DeleteCardProps) {
  const deed = `Delete ${what.toLowerCase()}`;
  const work = async (typed: string) => {
    await remove(typed);
    forgetSession();
  };
  const start = () =>
    ask({
      ...question,
      title: `Delete ${what}`,
      warning: <>{question.warning} This operation is permanent.</>,
      confirmLabel: deed,
      work,
    });
  return (
    <Card title={deed} description={description}>
      <Button variant="danger" onClick={start}>
        {deed}
      </Button>
    </Card>
  );
}
