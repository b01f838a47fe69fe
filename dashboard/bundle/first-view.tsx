// What a page shows before any script has come, as HTML for the build (first-load.ts).
import { renderToString } from 'react-dom/server';
import { SignInPage } from '../pages/sign-in-page.tsx';
import { FirstFrame, FirstLoad } from '../shell/first-frame.tsx';

/** The page around it has a title of its own. What a password manager filled in here would be gone once the script has come. */
export const renderSignIn = (): string =>
  renderToString(<SignInPage />)
    .replace(/<title>.*?<\/title>/, '')
    .replaceAll('<input ', '<input readonly ');

export const renderFirstLoad = (): string => renderToString(<FirstLoad />);
export const renderFirstFrame = (): string => renderToString(<FirstFrame />);
