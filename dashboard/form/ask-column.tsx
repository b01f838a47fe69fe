// The last column of a table: a button that asks before it does something to the row.
import { Button } from '../ui/button.tsx';
import { buttonColumn } from '../ui/table/columns.tsx';
import type { Column } from '../ui/table/table-view.tsx';
import type { Confirm, Question } from './use-confirm.tsx';

export interface RowQuestion extends Question {
  /** What the button does to which row, for screen readers. */
  readonly of: string;
  /** The text of the button; without it: the header of the column. */
  readonly label?: string;
}

/** Null: the row has no button. */
export function askColumn<Row>(
  ask: Confirm['ask'],
  header: string,
  width: string,
  questionOf: (row: Row) => RowQuestion | null,
): Column<Row> {
  return buttonColumn(header, width, (row) => {
    const question = questionOf(row);
    if (question === null) return null;
    const { of, label = header, ...asked } = question;
    return (
      <Button size="sm" onClick={() => ask(asked)} aria-label={of}>
        {label}
      </Button>
    );
  });
}
