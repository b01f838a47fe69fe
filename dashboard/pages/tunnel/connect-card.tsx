// The card of the connect section. It shows before the section itself (connect.tsx), whose code loads later.
import type { ReactNode } from 'react';
import { Card } from '../../ui/card.tsx';

export interface ConnectCardProps {
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

export function ConnectCard(props: ConnectCardProps) {
  return (
    <Card
      title="Connect"
      description="Run a client next to your application. It connects outward, so you don't need to open a port."
      {...props}
    />
  );
}
