// Beside a save that came too late: what was typed stays until its writer has seen what is there now.
import { Button } from '../ui/button.tsx';

export const LoadNewest = ({ onClick }: { readonly onClick: () => void }) => (
  <Button size="sm" onClick={onClick}>
    Load newest
  </Button>
);
