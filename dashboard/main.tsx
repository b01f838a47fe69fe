// Starts the application.
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createBrowserRouter } from 'react-router';
import { RouterProvider } from 'react-router/dom';
import { routes } from './routes.tsx';
import './styles/app.css';

const router = createBrowserRouter(routes);
const root = document.getElementById('root')!;

const show = () => {
  root.inert = false;
  createRoot(root).render(
    <StrictMode>
      <RouterProvider router={router} />
    </StrictMode>,
  );
};

// A root with content shows a screen of the build, which stays until the same screen is ready.
if (root.firstChild && !router.state.initialized) onceStarted(show);
else show();

function onceStarted(listener: () => void): void {
  const leave = router.subscribe(({ initialized }) => {
    if (!initialized) return;
    leave();
    listener();
  });
}
