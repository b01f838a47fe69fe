// Compares the OpenAPI document with what the server accepts, value by value: each field of each body and each parameter of
// each query gets odd values. What the document allows and the server refuses, or the reverse, stands in one of two lists.

import assert from 'node:assert/strict';
import crypto, { scryptSync } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { after, before, describe, it, mock } from 'node:test';
import { type CallName, calls } from '@underpass/rules/api/calls.ts';
import { parseHostname } from '@underpass/rules/names/hostname.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createTestControl, type SignedUp, type TestControl } from '../test-kit.ts';
import { callsOfInvited, type PreparedCall, prepareCall, sendCall, type World } from './test-kit-calls.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, object>>;
}
interface Operation {
  readonly operationId: CallName;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: { readonly $ref?: string } }>> };
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Refused although the document allows some of them: a schema cannot say what these rules do. */
const ruledElsewhere: Readonly<Record<string, string>> = {
  'requestLoginLink.bot-check': 'must solve the challenge',
  'register.bot-check': 'must solve the challenge',
  'reportAbuse.bot-check': 'must solve the challenge',
  'reportAbuse.host': 'must contain a host name',
  'createBlock.value': 'must be an address, a network or a name, and not of the service itself',
  'createDomain.name': 'must be registrable, by the public suffix list',
  'createTunnel.region': 'must exist',
  'createTunnel.ingressDomains': 'must be under a public suffix',
  'updateTunnel.ingressDomains': 'must be under a public suffix',
  'updateTunnel.securityGroup': 'must exist',
  'startQuickTunnel.region': 'must exist',
  'startQuickTunnel.ingressDomains': 'must be under a public suffix',
  'startQuickTunnel.securityGroup': 'must exist',
  'createTunnel.accessPolicy': 'must exist',
  'createTunnel.private': 'only of a tcp tunnel',
  'updateTunnel.accessPolicy': 'must exist',
  'startQuickTunnel.accessPolicy': 'must exist',
  'createAccessPolicy.people': 'must be addresses, or `*@` and a domain',
  'updateAccessPolicy.people': 'must be addresses, or `*@` and a domain',
  'createAccessPolicy.password': 'must have 8 to 200 characters',
  'updateAccessPolicy.password': 'must have 8 to 200 characters',
  'createAccessPolicy.tokenHeader': 'must be a field that the service leaves alone',
  'updateAccessPolicy.tokenHeader': 'must be a field that the service leaves alone',
  'testAccessPolicy.email': 'must be an address, and none beside a token',
  'testAccessPolicy.token': 'must be without an e-mail address beside it',
  'testAccessPolicy.address': 'must be an address',
  'createSecurityGroup.allow': 'must be addresses and ranges',
  'updateSecurityGroup.allow': 'must be addresses and ranges',
  'deleteProject.name': 'must be the name of the project',
  'checkInvitation.token': 'must be that of an invitation',
  'acceptInvitation.token': 'must be that of an invitation',
  'redeemProof.token': 'must be that of a link for this session',
  'proveByRecoveryCode.recoveryCode': 'must have the form of a recovery code',
  'deleteAccount.email': "must be the caller's own",
  'changeUser.suspended': 'may be null beside another change only',
  'createRegion.tcpPorts': 'must be from 1024 to 65535, and the first at most the last',
  'changeRegion.tcpPorts': 'must be from 1024 to 65535, and the first at most the last',
  'createRegion.wildcardIngressDomain': 'must be a host name behind its `*.`',
  'changeRegion.available': 'may be null beside another change only',
  'changeRegion.wildcardIngressDomain': 'must be a host name behind its `*.`',
};

/** Accepted although the document does not list them. */
const otherSpellings: Readonly<Record<string, string>> = {
  'createTunnel.name': 'trimmed and lowered',
  'startQuickTunnel.name': 'trimmed and lowered',
  'createSecurityGroup.name': 'trimmed',
  'createAccessPolicy.name': 'trimmed',
  'checkTunnelDomains.host': 'also a wildcard',
};

const texts = [
  ...['', ' ', 'a', 'A', ' a ', 'é', 'a b', '-a', 'a.', 'a.example', 'A.Example.COM', '*.a.example', 'on', 'yes', '0', '1'],
  ...[
    'http',
    'v2',
    'viewer',
    'boss',
    'open',
    'waiting',
    'hour',
    'a@example.com',
    'A@example.com',
    'a@',
    '192.0.2.1',
    '2030-01-01',
  ],
  ...['2030-01-01T10:00:00Z', '2030-01-01t10:00+01', '1', 'Dec 5', 'x'.repeat(63), 'x'.repeat(64), 'x'.repeat(101)],
  ...['x'.repeat(121), 'x'.repeat(201), 'x'.repeat(252), 'x'.repeat(253), 'x'.repeat(4001), 'x'.repeat(4097)],
];
const others = [
  ...[null, true, false, 0, 1, -1, 1.5, 365, 366, 65_535, 65_536, 1e12, {}, { tunnels: 1 }, { tunnels: -1 }, { tunnels: 1.5 }],
  ...[{ tunnels: null }, { tunnels: 10_001 }, { none: 1 }, [], [null], [1], [''], ['a'], ['192.0.2.1'], ['A.Example']],
  ...[Array.from({ length: 101 }, (_, i) => `a${i}.example`), Array.from({ length: 1001 }, () => '192.0.2.1')],
];

let test: TestControl;
let operator: SignedUp;
let document: Document;
let ajv: Ajv2020;
let count = 0;

/** Cheap: a good hash of each password would take a quarter of this file's time. */
const derive = (password: string, salt: Buffer, length: number, _: unknown, done: (error: null, key: Buffer) => void): void =>
  done(null, scryptSync(password, salt, length, { N: 16, r: 8, p: 1 }));

before(async () => {
  mock.method(crypto, 'scrypt', derive as typeof crypto.scrypt);
  syncBuiltinESMExports();
  test = await createTestControl();
  operator = await test.signUp('operator@example.com', { operator: true });
  document = await test.client().call<Document>('GET', '/openapi.json');
  ajv = new Ajv2020({ strict: false, formats: { 'idn-hostname': (text: string) => parseHostname(text) !== null } });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', ...document });
});
after(async () => {
  mock.restoreAll();
  syncBuiltinESMExports();
  await test.close();
});

type Change = (prepared: PreparedCall) => PreparedCall;

/** Makes calls in which one value is another. A refused call leaves everything as it was, so the next one uses the same. */
function createSender(name: CallName): (change: Change) => Promise<Response> {
  let ready: { readonly caller: SignedUp; readonly world: World; readonly prepared: PreparedCall } | undefined;
  const prepare = async () => {
    const world: World = { test, owner: await test.signUp(`person-${++count}@example.com`), operator };
    const invited = callsOfInvited.has(name) ? await test.signUp(`person-${++count}@example.com`) : world.owner;
    const caller = calls[name].who === 'operator' ? operator : invited;
    return { caller, world, prepared: await prepareCall[name](world, caller) };
  };
  return async (change) => {
    ready ??= await prepare();
    const { caller, world, prepared } = ready;
    const response = await sendCall(caller, name, change(prepared), world.owner.projectId);
    if (response.status !== 400) ready = undefined;
    return response;
  };
}

const inBody =
  (field: string, value: unknown): Change =>
  (prepared) => {
    const { body } = prepared;
    if (!(body instanceof FormData) && !(body instanceof URLSearchParams))
      return { ...prepared, body: { ...(body as object), [field]: value } };
    const copy = body instanceof FormData ? new FormData() : new URLSearchParams();
    for (const [key, each] of body) copy.append(key, each as string);
    copy.set(field, String(value));
    return { ...prepared, body: copy };
  };

const inQuery =
  (name: string, value: unknown): Change =>
  (prepared) => ({ ...prepared, query: { ...prepared.query, [name]: String(value) } });

/** The start of the text; nothing of a stream of events, which does not end. */
async function beginningOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return (await response.text()).slice(0, 80);
  await response.body?.cancel();
  return '';
}

/** One line for each value on which the document and the server differ without a reason, and for each reason without a value. */
async function differences(
  place: string,
  schema: object,
  values: readonly unknown[],
  change: (value: unknown) => Change,
): Promise<string[]> {
  const isValid = ajv.compile(schema);
  const send = createSender(place.split('.')[0] as CallName);
  const found = { refused: [] as string[], accepted: [] as string[] };
  for (const value of values) {
    const response = await send(change(value));
    const answer = `${response.status} ${await beginningOf(response)}`;
    assert.ok(response.status < 500, `${place}: ${answer}`);
    const shown = `${place} ${JSON.stringify(value).slice(0, 40)}: ${answer}`;
    if (isValid(value) && response.status === 400) found.refused.push(shown);
    if (!isValid(value) && response.status !== 400) found.accepted.push(shown);
  }
  return [...explained(place, ruledElsewhere, found.refused), ...explained(place, otherSpellings, found.accepted)];
}

function explained(place: string, reasons: Readonly<Record<string, string>>, found: readonly string[]): readonly string[] {
  if (!Object.hasOwn(reasons, place)) return found;
  return found.length > 0 ? [] : [`${place} needs no reason: ${reasons[place]}`];
}

function operationOf(name: CallName): Operation {
  const all = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  return all.find(({ operationId }) => operationId === name)!;
}

describe('the document and the server agree on', () => {
  for (const name of Object.keys(calls) as CallName[]) {
    it(`every value of ${name}`, async () => {
      const { parameters, requestBody } = operationOf(name);
      const found: string[] = [];
      for (const { name: parameter, in: part, schema } of parameters) {
        if (part !== 'query' || parameter === 'project') continue;
        // An empty parameter counts as absent.
        const values = texts.filter((text) => text !== '');
        found.push(...(await differences(`${name}.${parameter}`, schema, values, (value) => inQuery(parameter, value))));
      }
      const [media, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
      const reference = content?.schema.$ref;
      if (reference !== undefined) {
        const { properties = {} } = document.components.schemas[reference.split('/').at(-1)!]!;
        const values = media === 'application/json' ? [...texts, ...others] : texts;
        for (const field of Object.keys(properties)) {
          const schema = { $ref: `document${reference}/properties/${field}` };
          found.push(...(await differences(`${name}.${field}`, schema, values, (value) => inBody(field, value))));
        }
      }
      assert.deepEqual(found, []);
    });
  }
});
