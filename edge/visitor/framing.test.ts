// Every odd request with every odd answer, between raw sockets: no parser reads two messages where the edge reads one.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import {
  hiddenMark,
  framedHost as host,
  oddRequests,
  oddResponses,
  type Reading,
  readHeads,
  readings,
  upstreamMark,
} from '../fixture/framing.ts';
import { createRig, type Rig, tunnelOf } from '../fixture/rig.ts';

/** Asked for behind the odd request. */
const probe = (method: string): string => `${method} /probe HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
const probed = `HTTP/1.1 200 OK\r\n${upstreamMark}\r\nContent-Length: 6\r\nConnection: close\r\n\r\nprobed`;
/** Long for a loop of one process; a case that needs it is one whose body never ends. */
const timeouts = { headMs: 400, responseMs: 400, keepAliveMs: 400, stallMs: 400, idleStreamMs: 400, halfClosedMs: 400 };
const atOnce = 24;
/** Only the edge writes this, once into each request that it forwards. */
const identity = /^x-real-ip: 127\.0\.0\.1$/gim;

/** The odd answer to come, and the bytes that each upstream connection received. */
interface Upstream {
  answerFor: Map<string, string>;
  received: Map<string, string[]>;
}

/** Each case asks with a field of its own, so that many run at once against one upstream. */
const caseField = /^x-case: (\S+)$/im;

function receive({ answerFor, received }: Upstream, socket: Socket): void {
  let bytes = '';
  let answered = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.toString('latin1');
    const name = caseField.exec(bytes)?.[1];
    if (name === undefined) return;
    received.set(name, [...(received.get(name) ?? []).filter((one) => !bytes.startsWith(one)), bytes]);
    const heads = bytes.split('\r\n\r\n').filter((head) => head.match(identity) !== null);
    for (; answered < heads.length; answered++)
      socket.write(/^(GET|HEAD) \/probe /m.test(heads[answered] as string) ? probed : (answerFor.get(name) ?? probed), 'latin1');
  });
  socket.on('end', () => socket.end());
}

async function say(rig: Rig, text: string): Promise<string> {
  const visitor = await rig.visit(host);
  let heard = '';
  await new Promise<void>((resolve) => {
    visitor.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1');
      if (heard.endsWith('probed')) visitor.destroy();
    });
    visitor.on('end', () => visitor.destroy()).on('close', () => resolve());
    visitor.write(text, 'latin1');
  });
  return heard;
}

/** `most` heads count: behind an upgrade that both sides want, another protocol begins. */
function checkUpstream(connections: readonly string[], most: number, reading: Reading, why: string): number {
  let count = 0;
  for (const bytes of connections) {
    for (const head of readHeads(bytes, reading).slice(0, most)) {
      assert.equal(head.match(identity)?.length, 1, `${why}\nupstream, ${reading.name}: ${JSON.stringify(head)}`);
      count++;
    }
  }
  return count;
}

function checkVisitor(heads: readonly string[], reading: Reading, why: string): void {
  for (const head of heads) {
    assert.ok(!head.includes(hiddenMark), `${why}\nvisitor, ${reading.name}: ${JSON.stringify(head)}`);
    assert.ok(
      head.includes(upstreamMark) || /^underpass-error: /m.test(head),
      `${why}\nvisitor, ${reading.name}: ${JSON.stringify(head)}`,
    );
  }
}

test(`${oddRequests.length} odd requests and ${oddResponses.length} odd answers are each read as one message by every parser`, async () => {
  await using rig = await createRig([tunnelOf('t')], { timeouts });
  const upstream: Upstream = { answerFor: new Map(), received: new Map() };
  await rig.client('t', (socket) => receive(upstream, socket));
  let cases = 0;

  async function run(request: number, response: number): Promise<boolean> {
    const [asked, answer] = [oddRequests[request]!, oddResponses[response]!];
    const name = `${request}-${response}`;
    const why = `${asked.name}\n${answer.name}`;
    upstream.answerFor.set(name, answer.bytes);
    const method = asked.bytes.startsWith('HEAD') ? 'HEAD' : 'GET';
    const text = asked.bytes.replace(/\n/, `\nX-Case: ${name}\r\n`);
    const heard = await say(rig, text + probe(method).replace('\r\n', `\r\nX-Case: ${name}\r\n`));
    const seen = upstream.received.get(name) ?? [];
    const most = heard.startsWith('HTTP/1.1 101 ') ? 1 : Number.POSITIVE_INFINITY;
    const counts = readings.map((reading) => checkUpstream(seen, most, reading, why));
    assert.equal(new Set(counts).size, 1, `${why}\nthe parsers at the upstream see ${counts} requests`);
    for (const reading of readings) checkVisitor(readHeads(heard, reading, method === 'HEAD').slice(0, most), reading, why);
    upstream.received.delete(name);
    cases++;
    return (counts[0] as number) > 0;
  }

  /** Runs all, some at a time, and returns those that reached the upstream. */
  async function runAll(pairs: readonly (readonly [number, number])[]): Promise<(readonly [number, number])[]> {
    const [left, reached] = [[...pairs], [] as (readonly [number, number])[]];
    const work = async (): Promise<void> => {
      for (let pair = left.pop(); pair !== undefined; pair = left.pop()) if (await run(...pair)) reached.push(pair);
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return reached;
  }

  // The answer matters only to requests that get one.
  const forwarded = await runAll(oddRequests.map((_, request) => [request, 0] as const));
  assert.ok(forwarded.length >= 15 && forwarded.length < oddRequests.length / 2, `${forwarded.length} requests were forwarded`);
  await runAll(forwarded.flatMap(([request]) => oddResponses.slice(1).map((_, at) => [request, at + 1] as const)));
  assert.ok(cases > 600, `${cases} cases`);
});
