// Beside a save that came too late: what was typed stays until its writer has seen what is there now.
import type { MouseEvent } from 'react';
import { Button } from '../ui/button.tsx';

export function LoadNewest({ onClick }: { readonly onClick: () => void }) {
  // The button goes with its notice: the form keeps the focus.
  const load = ({ currentTarget }: MouseEvent<HTMLButtonElement>) => {
    currentTarget.form?.querySelector('input')?.focus();
    onClick();
  };
  return (
    <Button size="sm" onClick={load}>
      Load newest
    </Button>
  );
}
