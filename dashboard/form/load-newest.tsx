// The button beside a save that control refused because of a newer version. Typed values stay until the user presses it.
import type { MouseEvent } from 'react';
import { Button } from '../ui/button.tsx';

export function LoadNewest({ onClick }: { readonly onClick: () => void }) {
  // The button disappears with its notice, so the focus moves into the form.
  const load = ({ currentTarget }: MouseEvent<HTMLButtonElement>) => {
    currentTarget.form?.querySelector('input')?.focus();
    onClick();
  };
  return (
    <Button size="sm" onClick={load}>
      Load latest version
    </Button>
  );
}
