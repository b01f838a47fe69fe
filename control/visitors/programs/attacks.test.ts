// Attacks on the authorization server for programs. A row says what the attack would gain without its guard; the test does it and
// expects nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  allow,
  authorize,
  callback,
  challengeOf,
  createOAuthWorld,
  decide,
  exchange,
  type Fields,
  finish,
  goesTo,
  hosts,
  type OAuthWorld,
  opensAt,
  refresh,
  register,
  requestIdOf,
  resourceOf,
  verifier,
} from './test-kit.ts';

interface Attack {
  readonly name: string;
  readonly gain: string;
  /** True if it succeeds. */
  readonly run: (world: OAuthWorld, client: string) => Promise<boolean>;
}

const codeFor = async (world: OAuthWorld, client_id: string, fields: Fields = {}): Promise<string> =>
  (await allow(world, { client_id, ...fields })).searchParams.get('code')!;

const tokensFor = async (world: OAuthWorld, client: string) => (await exchange(world, client, await codeFor(world, client))).body;

const exchanges = async (world: OAuthWorld, client: string, fields: Fields): Promise<boolean> =>
  (await exchange(world, client, await codeFor(world, client), fields)).status === 200;

/** Whether control leads a browser on, to the sign-in or to the given address. */
const isLed = async (world: OAuthWorld, fields: Fields): Promise<boolean> => (await authorize(world, fields)).status === 303;

/** A question that waits in the victim's browser, for the attacker's program. */
async function openQuestion(world: OAuthWorld, client_id: string) {
  const jar = { cookie: '' };
  const grant = requestIdOf(await authorize(world, { client_id }, jar))!;
  await finish(world, jar, grant);
  return { jar, grant };
}

const allows = async (response: Response): Promise<boolean> => (await goesTo(response))?.searchParams.has('code') === true;

const registers =
  (metadata: object) =>
  async (world: OAuthWorld): Promise<boolean> =>
    (await register(world, metadata)).status === 201;

const redirectTo = (uri: string, gain: string): Attack => ({
  name: `register the redirect URI ${uri}`,
  gain,
  run: registers({ redirect_uris: [uri] }),
});

const askTo = (uri: string, registered: string, gain: string): Attack => ({
  name: `ask to be answered at ${uri}, registered ${registered}`,
  gain,
  run: async (world) => {
    const { client_id } = (await register(world, { redirect_uris: [registered] })).body;
    return isLed(world, { client_id, redirect_uri: uri });
  },
});

const attacks: readonly Attack[] = [
  {
    name: 'use a code twice',
    gain: 'a code from a log or a history gives a second set of tokens',
    run: async (world, client) => {
      const code = await codeFor(world, client);
      await exchange(world, client, code);
      return (await exchange(world, client, code)).status === 200;
    },
  },
  {
    name: 'use a code first, and keep the tokens when its owner comes',
    gain: 'the thief keeps a chain of tokens for the whole sign-in',
    run: async (world, client) => {
      const code = await codeFor(world, client);
      const stolen = (await exchange(world, client, code)).body;
      await exchange(world, client, code);
      return (await refresh(world, client, stolen.refresh_token!)).status === 200;
    },
  },
  {
    name: 'use a code twice at the same moment',
    gain: 'both requests see it unused, and two chains begin',
    run: async (world, client) => {
      const code = await codeFor(world, client);
      const both = await Promise.all([exchange(world, client, code), exchange(world, client, code)]);
      return both.every(({ status }) => status === 200);
    },
  },
  {
    name: 'use a code after a minute',
    gain: 'a code from a history works for as long as its row is kept',
    run: async (world, client) => {
      const code = await codeFor(world, client);
      world.time.now += 60_001;
      return (await exchange(world, client, code)).status === 200;
    },
  },
  {
    name: 'give a code to another program',
    gain: 'a program uses a code that its visitor gave to another',
    run: async (world, client) => {
      const other = (await register(world)).body.client_id!;
      return (await exchange(world, other, await codeFor(world, client))).status === 200;
    },
  },
  {
    name: 'give a code with another redirect URI',
    gain: 'a code that was sent elsewhere is slipped into an honest program',
    run: (world, client) => exchanges(world, client, { redirect_uri: 'http://127.0.0.1:3119/callback' }),
  },
  {
    name: 'give a code with another verifier',
    gain: 'anyone who sees the redirect, such as another program on the machine, gets the tokens',
    run: (world, client) => exchanges(world, client, { code_verifier: 'w'.repeat(43) }),
  },
  {
    name: 'give a code without a verifier',
    gain: 'PKCE is optional',
    run: (world, client) => exchanges(world, client, { code_verifier: undefined }),
  },
  {
    name: 'give the challenge as the verifier',
    gain: 'anyone who sees the request has the verifier',
    run: (world, client) => exchanges(world, client, { code_verifier: challengeOf(verifier) }),
  },
  {
    name: 'ask with the challenge method plain',
    gain: 'the verifier travels through the browser',
    run: async (world, client_id) =>
      requestIdOf(await authorize(world, { client_id, code_challenge_method: 'plain' })) !== undefined,
  },
  {
    name: 'ask without a challenge method, which means plain',
    gain: 'the same, by RFC 7636 4.3',
    run: async (world, client_id) =>
      requestIdOf(await authorize(world, { client_id, code_challenge_method: undefined })) !== undefined,
  },
  {
    name: 'ask without a resource',
    gain: 'a token for nobody in particular, good at every tunnel',
    run: async (world, client_id) => requestIdOf(await authorize(world, { client_id, resource: undefined })) !== undefined,
  },
  {
    name: 'give a code with the resource of another tunnel',
    gain: 'the visitor allows one tunnel, the program gets another',
    run: (world, client) => exchanges(world, client, { resource: resourceOf(hosts.wiki) }),
  },
  {
    name: 'renew a token with the resource of another tunnel',
    gain: 'one consent opens every tunnel',
    run: async (world, client) => {
      const { refresh_token } = await tokensFor(world, client);
      return (await refresh(world, client, refresh_token!, { resource: resourceOf(hosts.wiki) })).status === 200;
    },
  },
  {
    name: 'present a token at another tunnel',
    gain: 'the owner of one tunnel calls another as the visitor',
    run: async (world, client) => opensAt(world, hosts.wiki, (await tokensFor(world, client)).access_token!) !== null,
  },
  {
    name: 'present a token at another host of the same policy',
    gain: 'the same, between two tunnels of one project',
    run: async (world, client) => {
      const { access_token } = await tokensFor(world, client);
      world.policies.set(hosts.wiki, world.policies.get(hosts.shop)!);
      return opensAt(world, hosts.wiki, access_token!) !== null;
    },
  },
  {
    name: "use a program's token as a session cookie or a ticket",
    gain: 'a program turns an hour into a session of a browser',
    run: async (world, client) => {
      const { access_token } = await tokensFor(world, client);
      return (['session', 'ticket'] as const).some((use) => opensAt(world, hosts.shop, access_token!, use) !== null);
    },
  },
  {
    name: 'use a refresh token that was replaced',
    gain: 'a stolen one works beside the newest',
    run: async (world, client) => {
      const { refresh_token } = await tokensFor(world, client);
      await refresh(world, client, refresh_token!);
      return (await refresh(world, client, refresh_token!)).status === 200;
    },
  },
  {
    name: 'use the newest refresh token after a replaced one came',
    gain: 'the thief renewed first, and stays in when the owner comes',
    run: async (world, client) => {
      const { refresh_token } = await tokensFor(world, client);
      const thief = (await refresh(world, client, refresh_token!)).body;
      await refresh(world, client, refresh_token!);
      return (await refresh(world, client, thief.refresh_token!)).status === 200;
    },
  },
  {
    name: 'use a refresh token as another program',
    gain: 'a program that reads a file of another one renews its tokens',
    run: async (world, client) => {
      const other = (await register(world)).body.client_id!;
      return (await refresh(world, other, (await tokensFor(world, client)).refresh_token!)).status === 200;
    },
  },
  {
    name: 'use the id of a question as a code',
    gain: 'a program that reads the address bar skips the consent',
    run: async (world, client) => (await exchange(world, client, (await openQuestion(world, client)).grant)).status === 200,
  },
  {
    name: 'answer the question from another site',
    gain: 'a page that the visitor opens allows a program for them',
    run: async (world, client) => {
      const { jar, grant } = await openQuestion(world, client);
      return allows(await decide(world, jar, { grant, decision: 'allow' }, { 'sec-fetch-site': 'cross-site' }));
    },
  },
  {
    name: 'answer the question from a sibling host',
    gain: 'the same, by the owner of a tunnel beside the dashboard, whose requests carry the cookie',
    run: async (world, client) => {
      const { jar, grant } = await openQuestion(world, client);
      return allows(await decide(world, jar, { grant, decision: 'allow' }, { 'sec-fetch-site': 'same-site' }));
    },
  },
  {
    name: 'answer the question from another site, in a browser that sends only Origin',
    gain: 'the same, in browsers without Sec-Fetch-Site',
    run: async (world, client) => {
      const { jar, grant } = await openQuestion(world, client);
      const headers = { 'sec-fetch-site': undefined, origin: 'https://other.example' };
      return allows(await decide(world, jar, { grant, decision: 'allow' }, headers));
    },
  },
  {
    name: 'answer a question of another browser',
    gain: 'anyone who learns the address answers for the person who signed in',
    run: async (world, client) => {
      const { grant } = await openQuestion(world, client);
      const { jar } = await openQuestion(world, client);
      return allows(await decide(world, jar, { grant, decision: 'allow' }));
    },
  },
  {
    name: "make a victim sign in to the attacker's question",
    gain: 'the attacker allows it in the name of the victim',
    run: async (world, client_id) => {
      const [attacker, victim] = [{ cookie: '' }, { cookie: '' }];
      const grant = requestIdOf(await authorize(world, { client_id }, attacker))!;
      await authorize(world, { client_id }, victim);
      const isFound = (await world.waiting.find(grant, new Headers({ cookie: victim.cookie }))) !== undefined;
      const isFinished = (await finish(world, victim, grant)).status === 303;
      return isFound || isFinished || allows(await decide(world, attacker, { grant, decision: 'allow' }));
    },
  },
  {
    name: 'sign in a second time to a question that is open',
    gain: "the page names the victim, and the code is the attacker's, or the other way round",
    run: async (world, client) => {
      const { jar, grant } = await openQuestion(world, client);
      return (await finish(world, jar, grant, { subject: 'mallory' })).status === 303;
    },
  },
  {
    name: 'answer a question twice',
    gain: 'a double click, or a page from the history, makes a second code',
    run: async (world, client) => {
      const { jar, grant } = await openQuestion(world, client);
      const both = [decide(world, jar, { grant, decision: 'allow' }), decide(world, jar, { grant, decision: 'allow' })];
      return (await Promise.all((await Promise.all(both)).map(allows))).every((allowed) => allowed);
    },
  },
  {
    name: 'answer a question before anybody has signed in',
    gain: 'consent without a visitor',
    run: async (world, client_id) => {
      const jar = { cookie: '' };
      const grant = requestIdOf(await authorize(world, { client_id }, jar))!;
      return allows(await decide(world, jar, { grant, decision: 'allow' }));
    },
  },
  {
    name: "ask in the name of a program that the visitor has allowed before, as a hostile server's authorization server does",
    gain: 'consent that is remembered gives a code for a question that nobody answered',
    run: async (world, client_id) => {
      const jar = { cookie: '' };
      const ask = async () => {
        const grant = requestIdOf(await authorize(world, { client_id }, jar))!;
        return { grant, led: await finish(world, jar, grant) };
      };
      const { grant } = await ask();
      assert.ok(await allows(await decide(world, jar, { grant, decision: 'allow' })));
      const { led } = await ask();
      const next = new URL(led.headers.get('location')!, resourceOf(hosts.shop));
      return next.pathname !== '/access/oauth/consent' || next.searchParams.has('code') || (await allows(led));
    },
  },
  {
    name: 'put a script into the addresses of a logo, a home page and terms',
    gain: "a script on control's origin",
    run: async (world) => {
      const script = 'javascript:alert(1)';
      const links = { logo_uri: script, client_uri: script, tos_uri: script, policy_uri: script };
      const { client_id } = (await register(world, { ...links, redirect_uris: [callback] })).body;
      const { jar, grant } = await openQuestion(world, client_id!);
      const page = await world.send(`/access/oauth/consent?grant=${grant}`, { headers: { cookie: jar.cookie } });
      return (await page.text()).includes(script);
    },
  },
  {
    name: 'show the question in a frame',
    gain: 'a page lays its own button over Allow',
    run: async (world, client) => {
      const { jar, grant } = await openQuestion(world, client);
      const page = await world.send(`/access/oauth/consent?grant=${grant}`, { headers: { cookie: jar.cookie } });
      assert.equal(page.status, 200);
      return page.headers.get('content-security-policy')?.includes("frame-ancestors 'none'") !== true;
    },
  },
  {
    name: 'put markup into the name',
    gain: "a script on control's origin, where people type passwords",
    run: async (world) => {
      const name = '<script>alert(1)</script>';
      const { client_id } = (await register(world, { client_name: name, redirect_uris: [callback] })).body;
      const { jar, grant } = await openQuestion(world, client_id!);
      const page = await world.send(`/access/oauth/consent?grant=${grant}`, { headers: { cookie: jar.cookie } });
      return (await page.text()).includes(name);
    },
  },
  {
    name: 'turn the name around with a direction mark',
    gain: 'the page shows another name than the one that is registered',
    run: registers({ client_name: 'edualC \u202e', redirect_uris: [callback] }),
  },
  {
    name: 'answer at an address that an unknown program names',
    gain: 'an open redirect: control sends people from its own address to any other',
    run: (world) => isLed(world, { client_id: 'x'.repeat(43), redirect_uri: 'https://evil.example/' }),
  },
  {
    name: 'an error for an address that is not registered',
    gain: 'an open redirect through error answers',
    run: (world, client_id) => isLed(world, { client_id, redirect_uri: 'https://evil.example/', response_type: 'no' }),
  },
  {
    name: "mix-up: a code of this server, from an answer without the server's name",
    gain: 'a program that also knows a hostile server sends our code there',
    run: async (world, client_id) => !(await allow(world, { client_id })).searchParams.has('iss'),
  },
  redirectTo('javascript:alert(1)//', "a script on control's origin"),
  redirectTo('data:text/html,x', 'a page of the attacker that looks like the next step'),
  redirectTo('http://evil.example/callback', 'the code in clear on the network'),
  redirectTo('http://localhost.evil.example/', 'the same, by a name that begins like loopback'),
  redirectTo('http://127.0.0.1.evil.example/', 'the same, by a name that begins like loopback'),
  redirectTo('https://good.example@evil.example/', 'the consent page shows another host to people who read fast'),
  redirectTo('https://evil.example\\@good.example/', 'parsers disagree about the host'),
  redirectTo('https://good.example/#', 'the code in a fragment, which scripts of the page read'),
  redirectTo('file:///etc/passwd', 'a file of the visitor'),
  redirectTo('//evil.example/', "an address that is relative to control's"),
  redirectTo('ms-msdt:/id', 'a program of the system that runs what it is given'),
  askTo(
    'https://good.example/callback/../other',
    'https://good.example/callback',
    'another page of the host, with an open redirect',
  ),
  askTo('https://good.example/callback?next=//evil.example', 'https://good.example/callback', 'a parameter that leads on'),
  askTo('https://good.example:444/callback', 'https://good.example/callback', 'another server at the host'),
  askTo('https://GOOD.example/callback', 'https://good.example/callback', 'a comparison that two sides do differently'),
  askTo('https://good.example@evil.example/callback', 'https://good.example/callback', 'the host is read as a user name'),
  askTo('https://evil.example\\@good.example/callback', 'https://good.example/callback', 'parsers disagree about the host'),
  askTo('http://127.0.0.1:80@evil.example/callback', 'http://127.0.0.1/callback', 'the rule for ports admits a host'),
  askTo('http://localhost:3118/callback', 'http://127.0.0.1/callback', 'a name that may resolve elsewhere'),
  askTo('http://127.0.0.1:3118/other', 'http://127.0.0.1/callback', 'another page of the program'),
  {
    name: 'register eleven redirect URIs',
    gain: 'rows without end, and a list that nobody can look through',
    run: registers({ redirect_uris: Array.from({ length: 11 }, (_, port) => `http://127.0.0.1:${port + 1}/`) }),
  },
  {
    name: 'register with 100 kB',
    gain: 'the store fills with what nobody pays for',
    run: registers({ redirect_uris: [callback], more: 'x'.repeat(100_000) }),
  },
  {
    name: 'register without a redirect URI',
    gain: 'a program that is answered anywhere',
    run: registers({ redirect_uris: [] }),
  },
];

test('no attack on the authorization server succeeds', async (t) => {
  for (const attack of attacks) {
    const world = await createOAuthWorld();
    try {
      const client = (await register(world)).body.client_id!;
      assert.equal(await attack.run(world, client), false, `${attack.name}: ${attack.gain}`);
    } finally {
      await world.close();
    }
  }
  t.diagnostic(`${attacks.length} attacks`);
});
