// Compares the route table with the spec's, and the URLs of paths.ts with the route table.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { findFirstCalls } from '@underpass/rules/api/first-call.ts';
import { matchPath, matchRoutes } from 'react-router';
import { paths, tunnelPattern } from './paths.ts';

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

const specRoutes = [
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
  const ofSpec = routePaths.filter((path) => specRoutes.includes(path) && path !== '*' && path !== 'download');
  assert.deepEqual(ofSpec, specRoutes.slice(0, -2));
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

test('the server knows the first calls of every list, and of a tunnel', () => {
  const callsOf = (path: string) => findFirstCalls(new URL(path, 'https://underpass.example'));
  for (const [path, ...calls] of [
    [paths.tunnels('p'), '/api/tunnels?project=p&sort=name&limit=50'],
    [
      `${paths.tunnels('p')}?q=a&sort=-status&status=Pending&after=x~y`,
      '/api/tunnels?project=p&q=a&status=Pending&sort=-status&after=x%7Ey&limit=50',
    ],
    [`${paths.tunnels('p')}?sort=nothing&status=any`, '/api/tunnels?project=p&sort=name&limit=50'],
    [paths.domains('p'), '/api/domains?project=p&sort=domain&limit=50'],
    [paths.securityGroups('p'), '/api/security-groups?project=p&sort=name&limit=50'],
    [paths.accessPolicies('p'), '/api/access-policies?project=p&sort=name&limit=50'],
    [paths.tunnel('p', 'web'), '/api/tunnels/web?project=p&metrics=1', '/api/tunnels/web/domains?project=p'],
    [paths.settings('p')],
    [paths.account()],
  ] as const)
    assert.deepEqual(callsOf(path), calls, path);
});

test('the shell finds the name of the tunnel whose page is shown', () => {
  assert.equal(matchPath(tunnelPattern, paths.tunnel('p', 'web'))?.params.name, 'web');
  assert.equal(matchPath(tunnelPattern, paths.tunnelDomain('p', 'web', 'a.example.com')), null);
});

test('a name with a slash, a space or a question mark stays one segment', () => {
  assert.equal(paths.securityGroup('p', 'a/b c?'), '/projects/p/security-groups/a%2Fb%20c%3F');
});
