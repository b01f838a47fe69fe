// The button beside a save that control refused because of a newer version. It asks: what is typed then makes way for that version.
import { useRef } from 'react';
import { Button } from '../ui/button.tsx';
import { useLeave } from '../unsaved/use-unsaved.ts';

export function LoadNewest({ onClick }: { readonly onClick: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  const leave = useLeave();
  // The button disappears with its notice, so the focus moves into the form.
  const load = () => {
    button.current?.form?.querySelector('input')?.focus();
    onClick();
  };
  return (
    <Button ref={button} size="sm" onClick={() => leave(load)}>
      Load latest version
    </Button>
  );
}
