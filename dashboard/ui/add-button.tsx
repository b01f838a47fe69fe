// A button that opens the form of a new entry: the main one of a page, or with `size="sm"` one of a card.
import { Plus } from 'lucide-react';
import { Button, type ButtonProps } from './button.tsx';

export function AddButton(props: ButtonProps) {
  return <Button variant={props.size === 'sm' ? 'secondary' : 'primary'} icon={<Plus aria-hidden="true" />} {...props} />;
}
