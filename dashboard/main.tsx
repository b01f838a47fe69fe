// Starts the sign-in alone where the page has its HTML (bundle/first-load.ts), and the application everywhere else.
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { loadCode } from './code-loading/load-code.ts';
import { enterSignIn, SignInPage } from './pages/sign-in-page.tsx';
import './styles/app.css';

const root = document.getElementById('root')!;

// The application keeps a state for each of its entries in the history, such as the one that says that the session has ended.
if (root.inert && history.state === null) startSignIn();
else void openApplication();

function startSignIn(): void {
  enterSignIn();
  root.inert = false;
  const page = createRoot(root, {
    // The application has the page for an error that nothing else caught.
    onUncaughtError: async (error) => {
      console.error('Sign-in failed to show', error);
      page.unmount();
      await openApplication();
    },
  });
  page.render(
    <StrictMode>
      <SignInPage />
    </StrictMode>,
  );
}

async function openApplication(): Promise<void> {
  const { startApplication } = await loadCode(() => import('./application.tsx'));
  startApplication(root);
}
