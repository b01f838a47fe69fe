// The application: the router with all routes.
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createBrowserRouter, type DataRouter } from 'react-router';
import { RouterProvider } from 'react-router/dom';
import { routes } from './routes.tsx';

export function startApplication(root: HTMLElement): void {
  const router = createBrowserRouter(routes);
  const show = () => {
    root.inert = false;
    createRoot(root).render(
      <StrictMode>
        <RouterProvider router={router} />
      </StrictMode>,
    );
  };
  // A root with content shows what the build wrote there, which stays until the page is ready.
  if (root.firstChild && !router.state.initialized) onceStarted(router, show);
  else show();
}

function onceStarted(router: DataRouter, listener: () => void): void {
  const leave = router.subscribe(({ initialized }) => {
    if (!initialized) return;
    leave();
    listener();
  });
}
