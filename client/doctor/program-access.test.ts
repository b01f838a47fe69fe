// How the doctor judges what programs meet on the way to a sign-in.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Io } from '../process/io.ts';
import { checkProgramAccess, metadataUrls } from './program-access.ts';

const address = 'https://shop.example.com/mcp';
const resource = 'https://shop.example.com/.well-known/oauth-protected-resource/mcp';
const issuer = 'https://tunnels.example/access/oauth';
const server = 'https://tunnels.example/.well-known/oauth-authorization-server/access/oauth';

const challenge = () =>
  new Response('', { status: 401, headers: { 'www-authenticate': `Bearer realm="shop", resource_metadata="${resource}"` } });
const right: Readonly<Record<string, () => Response>> = {
  [address]: challenge,
  [resource]: () => Response.json({ resource: address, authorization_servers: [issuer] }),
  [server]: () => Response.json(metadata()),
  [`${issuer}/register`]: () => Response.json({ error: 'invalid_redirect_uri' }, { status: 400 }),
};
const metadata = (more: object = {}): object => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  code_challenge_methods_supported: ['S256'],
  client_id_metadata_document_supported: true,
  ...more,
});

function walk(changed: Readonly<Record<string, () => Response>> = {}) {
  const answers = { ...right, ...changed };
  const fetch = async (url: string) => answers[url]?.() ?? new Response('', { status: 404 });
  return checkProgramAccess({ fetch } as unknown as Io, address);
}

test('every step of a right installation is ok', async () => {
  const findings = await walk();
  assert.deepEqual(
    findings.map(({ check, state }) => `${check} ${state}`),
    ['sign-in challenge ok', 'resource metadata ok', 'authorization server ok', 'PKCE ok', 'registration ok'],
  );
  assert.equal(findings.at(-1)?.detail, 'dynamic registration, client-ID metadata documents');
});

test('the first step that fails says what to do, and the rest is skipped', async (t) => {
  const wrong: readonly [Readonly<Record<string, () => Response>>, string, RegExp][] = [
    [{ [address]: () => new Response('ok') }, 'sign-in challenge', /answers 200.*needs no sign-in/],
    [{ [address]: () => new Response('', { status: 502 }) }, 'sign-in challenge', /answers 502.*a client is connected/],
    [{ [address]: () => new Response('', { status: 401 }) }, 'sign-in challenge', /names no resource_metadata/],
    [{ [resource]: () => new Response('<html>') }, 'resource metadata', /without JSON/],
    [
      { [resource]: () => Response.json({ resource: 'https://other.example', authorization_servers: [issuer] }) },
      'resource metadata',
      /it is for https:\/\/other\.example/,
    ],
    [{ [resource]: () => Response.json({ resource: `${address}/deeper` }) }, 'resource metadata', /not for/],
    [{ [resource]: () => Response.json({ resource: address }) }, 'resource metadata', /no authorization server/],
    [{ [server]: () => new Response('', { status: 404 }) }, 'authorization server', /answers 404; .*answers 404; .*answers 404/],
    [{ [server]: () => Response.json(metadata({ issuer: 'https://other.example' })) }, 'authorization server', /calls itself/],
    [{ [server]: () => Response.json(metadata({ code_challenge_methods_supported: ['plain'] })) }, 'PKCE', /does not offer S256/],
    [{ [`${issuer}/register`]: () => new Response('', { status: 200 }) }, 'registration', /answers 200/],
  ];
  for (const [changed, check, text] of wrong) {
    const findings = await walk(changed);
    const found = findings.find(({ state }) => state === 'problem');
    assert.equal(found?.check, check);
    assert.match(`${found.detail} ${found.fix}`, text);
    assert.equal(findings.length, 5);
  }
  t.diagnostic(`${wrong.length} cases`);
});

test('looks for the authorization server where the MCP SDK does', () => {
  assert.deepEqual(metadataUrls(issuer), [
    server,
    'https://tunnels.example/.well-known/openid-configuration/access/oauth',
    'https://tunnels.example/access/oauth/.well-known/openid-configuration',
  ]);
});
