// The sign-in as HTML, for the build (first-load.ts).
import { renderToString } from 'react-dom/server';
import { createStaticHandler, createStaticRouter, StaticRouterProvider } from 'react-router';
import { Component as Login } from '../pages/login.tsx';
import { paths } from '../routing/paths.ts';
import { Component as PublicLayout } from '../shell/public-layout.tsx';

const routes = [{ Component: PublicLayout, children: [{ path: paths.login(), Component: Login }] }];

export async function renderSignIn(): Promise<string> {
  const { query, dataRoutes } = createStaticHandler(routes);
  const context = await query(new Request(`http://localhost${paths.login()}`));
  if (context instanceof Response) throw new Error('the sign-in answers with a redirect');
  const page = <StaticRouterProvider router={createStaticRouter(dataRoutes, context)} context={context} hydrate={false} />;
  // The page around it has a title of its own.
  return renderToString(page).replace(/<title>.*?<\/title>/, '');
}
