// Traces through a whole edge, over both versions of HTTP: what a request brings passes untouched, and an edge begins one only where
// the owner of the tunnel asks for it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:http2';
import { describe, it, type TestContext } from 'node:test';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { createRig, type Rig, readAll, tunnelOf } from '../fixture/rig.ts';

const host = 't.tunnels.test';
const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const valid = `00-${id}-00f067aa0ba902b7-01`;
const broken = `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`;
const begins = { beginsTraces: true } as const;

type Ask = (rig: Rig, fields: Readonly<Record<string, string>>) => Promise<void>;

const overHttp1: Ask = async (rig, fields) => {
  const visitor = await rig.visit(host);
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  visitor.end(`GET /traced HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}Connection: close\r\n\r\n`);
  await readAll(visitor);
};

const overHttp2: Ask = async (rig, fields) => {
  const session = connect(`https://${host}`, { createConnection: () => rig.connectTls(host, { ALPNProtocols: ['h2'] }) });
  const stream = session.request({ ':path': '/traced', ...fields });
  stream.resume();
  await once(stream, 'close');
  session.close();
};

/** What an upstream gets of this request. */
async function received(t: TestContext, ask: Ask, changes: Partial<FeedTunnel>, fields: Readonly<Record<string, string>>) {
  const rig = await createRig([tunnelOf('t', changes)]);
  t.after(() => rig[Symbol.asyncDispose]());
  let headers: IncomingHttpHeaders = {};
  await rig.client(
    't',
    createServer((request, response) => {
      headers = request.headers;
      response.end();
    }),
  );
  await ask(rig, fields);
  return { rig, traceparent: headers.traceparent, tracestate: headers.tracestate };
}

for (const [version, ask] of [
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
] as const)
  describe(`a trace over ${version}`, () => {
    for (const [changes, why] of [
      [{}, 'a tunnel that begins none'],
      [begins, 'a tunnel that begins some'],
    ] as const)
      it(`that is valid passes untouched, with its state, to ${why}`, async (t) => {
        const fields = { traceparent: valid, tracestate: 'rojo=00f067aa0ba902b7' };
        const { traceparent, tracestate } = await received(t, ask, changes, fields);
        assert.deepEqual([traceparent, tracestate], [valid, 'rojo=00f067aa0ba902b7']);
      });

    it('is not begun, and what is broken not mended, unless the tunnel asks for it', async (t) => {
      assert.equal((await received(t, ask, {}, {})).traceparent, undefined);
      const { traceparent, tracestate } = await received(t, ask, {}, { traceparent: broken, tracestate: 'a=b' });
      assert.deepEqual([traceparent, tracestate], [broken, 'a=b']);
    });

    for (const fields of [{}, { traceparent: broken, tracestate: 'a=b' }, { tracestate: 'a=b' }])
      it(`is begun where the tunnel asks for it, for ${JSON.stringify(fields)}`, async (t) => {
        const { traceparent, tracestate } = await received(t, ask, begins, fields);
        assert.match(traceparent as string, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
        assert.equal(tracestate, undefined);
      });

    it('is named in the visitor log', async (t) => {
      const log = { visitorLog: { address: 'truncated', query: false } } as const;
      for (const [changes, fields] of [
        [begins, {}],
        [{}, { traceparent: valid }],
      ] as const) {
        const { rig, traceparent } = await received(t, ask, { ...log, ...changes }, fields);
        const { tunnels } =
          rig.control.received.find((message) => message.type === 'visitor-log') ?? (await rig.control.next('visitor-log'));
        assert.equal(tunnels[0]?.entries[0]?.trace, (traceparent as string).split('-')[1]);
      }
    });
  });
