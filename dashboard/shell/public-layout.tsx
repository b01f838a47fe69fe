// The route around the public pages.
import { Link, Outlet } from 'react-router';
import { NavigationProgress } from './navigation-progress.tsx';
import { PublicFrame } from './public-frame.tsx';

export function Component() {
  return (
    <PublicFrame Link={Link} progress={<NavigationProgress />}>
      <Outlet />
    </PublicFrame>
  );
}
