// The sign-in as HTML, for the build (first-load.ts).
import { renderToString } from 'react-dom/server';
import { SignInPage } from '../pages/sign-in-page.tsx';

/** The page around it has a title of its own. */
export const renderSignIn = (): string => renderToString(<SignInPage />).replace(/<title>.*?<\/title>/, '');
