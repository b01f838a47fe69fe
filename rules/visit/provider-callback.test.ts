import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providerCallbackPath } from './provider-callback.ts';

test('each issuer has a path of its own', () => {
  const issuers = [
    'https://login.example',
    'https://login.example/',
    'https://login.example/a/b',
    'https://login.example/a_2fb',
    'https://login.example_/a/b',
    'https://login.example:8443',
    'http://login.example',
    'https://http_3a_2f_2flogin.example',
    'https://login.example/%2f',
  ];
  const paths = issuers.map((issuer) => providerCallbackPath('p', issuer));
  assert.equal(new Set(paths).size, issuers.length);
  for (const path of paths) assert.match(path, /^\/access\/oidc\/callback\/p\/[\w.-]+$/);
  assert.equal(providerCallbackPath('p', 'https://login.example/a/b'), '/access/oidc/callback/p/login.example_2fa_2fb');
});
