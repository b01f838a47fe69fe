// Starts the inspector's page.
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { loadOnNewToken } from './api/token.ts';
import { App } from './app.tsx';
import './inspector.css';

loadOnNewToken();

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
