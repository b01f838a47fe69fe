// Compares the route table with the spec's, and the URLs of paths.ts with the route table.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { matchRoutes } from 'react-router';
import { paths } from './paths.ts';

/** Importing routes.tsx would load the whole application, so the test reads its table as text. */
const source = readFileSync(new URL('../routes.tsx', import.meta.url), 'utf8');
const operator = source.indexOf("path: 'operator'");
const routePaths = [...source.matchAll(/path: '([^']+)'/g)].map(({ 1: path, index }) =>
  index > operator &&
  path !== '/' &&
  operator > 0 &&
  source.lastIndexOf('children: [', index) > operator &&
  index < source.indexOf('],', operator)
    ? `operator/${path}`
    : path!,
);

const SPEC_ROUTES = [
  'login',
  'register',
  'privacy-policy',
  'terms-of-service',
  'login/:token',
  'magiclink/:token?',
  'projects/:projectID/dashboard',
  'projects/:projectID/domains',
  'projects/:projectID/domains/:name',
  'projects/:projectID/tunnels',
  'projects/:projectID/tunnels/:name',
  'projects/:projectID/tunnels/:tunnel/domains/:name',
  'projects/:projectID/security-groups',
  'projects/:projectID/security-groups/:securityGroup',
  'download',
  '*',
];

test('every row of the spec has a route, in the order of the spec', () => {
  const ofSpec = routePaths.filter((path) => SPEC_ROUTES.includes(path) && path !== '*' && path !== 'download');
  assert.deepEqual(ofSpec, SPEC_ROUTES.slice(0, -2));
  for (const path of ['download', '*']) assert.ok(routePaths.includes(path), path);
});

test('every URL that is spelled leads to a page of its own', () => {
  const table = routePaths.filter((path) => path !== '*' && path !== '/').map((path) => ({ path: `/${path}` }));
  const { home: _home, operator: operatorPath, ...pages } = paths;
  const urls = [
    ...Object.values(pages).map((spell) => (spell as (...names: string[]) => string)('p 1', 'a/b', 'c')),
    operatorPath('edges'),
  ];
  for (const url of urls) assert.ok(matchRoutes(table, url), `no route for ${url}`);
});

test('a name with a slash, a space or a question mark stays one segment', () => {
  assert.equal(paths.securityGroup('p', 'a/b c?'), '/projects/p/security-groups/a%2Fb%20c%3F');
});
