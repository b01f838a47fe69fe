// Clients that two generators make of the OpenAPI document compile, and work against a control.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestControl, type SignedUp, type TestControl, testOrigin } from '../test-kit.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

// The generators print with the API of TypeScript 5. The repository's own version has none yet.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'typescript' ? next(specifier, { ...context, parentURL: import.meta.url }) : next(specifier, context),
});

const compilerOptions = {
  ...{ target: 'es2025', module: 'nodenext', strict: true, noEmit: true, lib: ['es2025', 'dom', 'dom.iterable'], types: [] },
  ...{ allowImportingTsExtensions: true, erasableSyntaxOnly: true, skipLibCheck: true },
};

let folder: string;
let test: TestControl;
let ann: SignedUp;

/** Programs as users would write them. Each imports the client that its generator writes into the folder of its name. */
const programs = {
  'openapi-fetch': `
    import createClient from 'openapi-fetch';
    import type { components, paths } from './openapi-fetch/schema.ts';

    export async function run({ baseUrl, token, project, send }: Setup) {
      const headers = { authorization: \`Bearer \${token}\` };
      const client = createClient<paths>({ baseUrl, headers, fetch: send });
      const query = { project };
      const user = await client.GET('/api/user');
      const made = await client.POST('/api/tunnels', {
        params: { query },
        body: { name: 'shop', region: 'local', type: 'http', ingressDomains: null, proxyProtocol: '' },
      });
      const path = { name: 'shop' };
      const changed = await client.PATCH('/api/tunnels/{name}', {
        params: { path, query },
        body: { proxyProtocol: 'v2', securityGroup: null },
      });
      const stale = await client.PATCH('/api/tunnels/{name}', {
        params: { path, query, header: { 'If-Match': '"2020-01-01T00:00:00.000Z"' } },
        body: { proxyProtocol: 'v1' },
        parseAs: 'text',
      });
      const list = await client.GET('/api/tunnels', { params: { query } });
      const deleted = await client.DELETE('/api/tunnels/{name}', { params: { path, query } });
      const refused = await client.POST('/api/tunnels', { params: { query }, body: { name: '-', region: 'local' } });
      return {
        email: user.data?.email,
        made: [made.data?.name, made.data?.type],
        proxyProtocol: changed.data?.proxyProtocol,
        stale: [stale.response.status, stale.error],
        names: list.data?.map((tunnel) => tunnel.name),
        deleted: deleted.response.status,
        refused: refused.error,
      };
    }

    type Schemas = components['schemas'];
    // @ts-expect-error 'web' is no type of tunnel
    export const type: Schemas['NewTunnel'] = { name: 'a', region: 'local', type: 'web' };
    // @ts-expect-error the region is missing
    export const region: Schemas['NewTunnel'] = { name: 'a' };
    // @ts-expect-error a name may not be null
    export const name: Schemas['NewTunnel'] = { name: null, region: 'local' };
    // @ts-expect-error 'boss' is no role
    export const role: Schemas['NewInvitation'] = { email: 'a@example.com', role: 'boss' };
    // @ts-expect-error there is no limit of that name
    export const limits: Schemas['ProjectChange'] = { limits: { tunnel: 1 } };
  `,
  'hey-api': `
    import { createClient, createConfig } from './hey-api/client/index.ts';
    import { createTunnel, deleteTunnel, getUser, listTunnels, updateTunnel } from './hey-api/sdk.gen.ts';
    import type { NewInvitation, NewTunnel } from './hey-api/types.gen.ts';

    export async function run({ baseUrl, token, project, send }: Setup) {
      const client = createClient(createConfig({ baseUrl, auth: ({ type }) => (type === 'http' ? token : undefined), fetch: send as typeof fetch }));
      const query = { project };
      const path = { name: 'shop' };
      const user = await getUser({ client });
      const made = await createTunnel({
        client,
        query,
        body: { name: 'shop', region: 'local', type: 'http', ingressDomains: null, proxyProtocol: '' },
      });
      const changed = await updateTunnel({ client, path, query, body: { proxyProtocol: 'v2', securityGroup: null } });
      const headers = { 'If-Match': '"2020-01-01T00:00:00.000Z"' };
      const stale = await updateTunnel({ client, path, query, headers, body: { proxyProtocol: 'v1' } });
      const list = await listTunnels({ client, query });
      const deleted = await deleteTunnel({ client, path, query });
      const refused = await createTunnel({ client, query, body: { name: '-', region: 'local' } });
      return {
        email: user.data?.email,
        made: [made.data?.name, made.data?.type],
        proxyProtocol: changed.data?.proxyProtocol,
        stale: [stale.response?.status, stale.error],
        names: list.data?.map((tunnel) => tunnel.name),
        deleted: deleted.response?.status,
        refused: refused.error,
      };
    }

    // @ts-expect-error 'web' is no type of tunnel
    export const type: NewTunnel = { name: 'a', region: 'local', type: 'web' };
    // @ts-expect-error 'boss' is no role
    export const role: NewInvitation = { email: 'a@example.com', role: 'boss' };
  `,
} as const;
const names = Object.keys(programs) as (keyof typeof programs)[];

const setupType = `
  interface Setup {
    readonly baseUrl: string;
    readonly token: string;
    readonly project: string;
    readonly send: (request: Request) => Promise<Response>;
  }`;

/** What this test uses of the generators. The checks of types do without them: they are needed here alone. */
interface OpenApiTypescript {
  default(document: string): Promise<readonly unknown[]>;
  astToString(nodes: readonly unknown[]): string;
}
interface HeyApi {
  createClient(options: object): Promise<unknown>;
}
const load = <Generator>(name: string): Promise<Generator> => import(name);

before(async () => {
  test = await createTestControl();
  ann = await test.signUp('ann@example.com');
  const document = await test.client().call<Record<string, unknown>>('GET', '/openapi.json');
  folder = mkdtempSync(join(tmpdir(), 'underpass-clients-'));
  // openapi-fetch lies beside the generators, or at the root, as npm decides.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*.ts'] }));
  for (const name of names) writeFileSync(join(folder, `${name}-program.ts`), setupType + programs[name]);

  const { default: generate, astToString } = await load<OpenApiTypescript>('openapi-typescript');
  mkdirSync(join(folder, 'openapi-fetch'));
  const types = await generate(JSON.stringify(document));
  writeFileSync(join(folder, 'openapi-fetch', 'schema.ts'), astToString(types));

  const { createClient } = await load<HeyApi>('@hey-api/openapi-ts');
  await createClient({
    input: document,
    output: { path: join(folder, 'hey-api'), module: { extension: '.ts' } },
    logs: { level: 'silent' },
  });
});
after(async () => {
  await test.close();
  rmSync(folder, { recursive: true });
});

it('the clients compile, and their types know the words, the nulls and the required fields', async () => {
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  const failed = (error: { stdout?: string }): string => error.stdout ?? String(error);
  const output = await promisify(execFile)(tsc, ['-p', folder], { timeout: 120_000 }).then(({ stdout }) => stdout, failed);
  assert.equal(output, '');
});

describe('a client', () => {
  for (const name of names) {
    it(`of ${name} makes, reads, changes and deletes a tunnel, and gets the text of a refusal`, async () => {
      const body = { name: 'ci', role: 'admin' };
      const { token } = await ann.call<{ token: string }>('POST', `/api/tokens?project=${ann.projectId}`, body);
      const { run } = (await import(join(folder, `${name}-program.ts`))) as { run: (setup: object) => Promise<unknown> };
      const send = (request: Request): Promise<Response> => test.control.fetch(request, { remoteAddress: '192.0.2.1' });
      const seen = await run({ baseUrl: testOrigin, token, project: ann.projectId, send });
      assert.deepEqual(seen, {
        email: 'ann@example.com',
        made: ['shop', 'http'],
        proxyProtocol: 'v2',
        stale: [412, "Tunnel 'shop' has changed since you opened it."],
        names: ['shop'],
        deleted: 204,
        refused: 'A name that can be used as a DNS subdomain is required',
      });
    });
  }
});
