// Which `traceparent` is valid, by the tables of the W3C test suite and what else visitors send, and what a new trace leaves of it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RequestHead } from '@underpass/wire/http/request-head.ts';
import { buildRequest } from './forwarded-head.ts';
import { beginTrace, passedTraceId, traceBytes, traceIdOf } from './trace-context.ts';

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';
const valid = `00-${id}-${parent}-01`;

const accepted: readonly (readonly [string, string])[] = [
  [valid, 'version 00'],
  [`00-${id}-${parent}-00`, 'not sampled'],
  [`00-${id}-${parent}-ff`, 'flags that are not known'],
  [`01-${id}-${parent}-01`, 'a later version'],
  [`cc-${id}-${parent}-01-what-the-future-brings`, 'a later version with more'],
];
const refused: readonly (readonly [string, string])[] = [
  ['', 'empty'],
  [`ff-${id}-${parent}-01`, 'version ff is forbidden'],
  [`00-${id}-${parent}-01-more`, 'version 00 has four parts'],
  [`00-${id}-${parent}-01-`, 'version 00 ends'],
  [`01-${id}-${parent}-01more`, 'a later version has a dash before more'],
  [`00-${'0'.repeat(32)}-${parent}-01`, 'a trace of zeros'],
  [`00-${id}-${'0'.repeat(16)}-01`, 'a parent of zeros'],
  [`00-${id.toUpperCase()}-${parent}-01`, 'upper case'],
  [`00-${id.slice(1)}-${parent}-01`, 'a short trace'],
  [`00-${id}0-${parent}-01`, 'a long trace'],
  [`00-${id}-${parent}-1`, 'short flags'],
  [`00-${id}-${parent}`, 'no flags'],
  [`00_${id}_${parent}_01`, 'no dashes'],
  [`00-${id}-${parent}-01, ${valid}`, 'two in one'],
  [`00-${id}\n-${parent}-01`, 'a line feed'],
];

describe('a traceparent', () => {
  for (const [text, why] of accepted) it(`is valid: ${why}`, () => assert.equal(traceIdOf(text), id));
  for (const [text, why] of refused) it(`is not valid: ${why}`, () => assert.equal(traceIdOf(text), ''));
});

function headOf(fields: string): { head: RequestHead; bytes: Buffer; end: number } {
  const bytes = Buffer.from(`GET / HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`, 'latin1');
  const head = new RequestHead();
  return { head, bytes, end: head.scan(bytes, 0, bytes.length) };
}

describe('the trace of a request', () => {
  for (const [fields, found, why] of [
    [`traceparent: ${valid}\r\n`, id, 'one'],
    [`TraceParent:${valid}  \r\n`, id, 'in any case, with or without space'],
    [`traceparent: ${valid}\r\ntraceparent: ${valid}\r\n`, '', 'two, though they are the same'],
    [`Connection: traceparent\r\ntraceparent: ${valid}\r\n`, '', 'one that goes no further'],
    [`X-Traceparent: ${valid}\r\n`, '', 'another field'],
    [`traceparent: ${`00-${id}-${parent}-01-${'x'.repeat(600)}`.replace('00', '01')}\r\n`, '', 'one that is too long'],
    ['', '', 'none'],
  ] as const)
    it(`is read from ${why}`, () => {
      const { head, bytes, end } = headOf(fields);
      assert.equal(passedTraceId(head, bytes, end), found);
    });

  it('that the edge begins replaces what was not valid, with the state of that', () => {
    const { head, bytes, end } = headOf(
      'A: b\r\nTraceparent: x\r\ntracestate: k=v\r\nC: d\r\ntraceparent: y\r\nTRACESTATE: l=w\r\n',
    );
    const random = Buffer.alloc(traceBytes, 0xab);
    const { id: begun, line } = beginTrace(head, bytes, end, random);
    const sent = buildRequest(head, bytes, end, Buffer.alloc(0), false, line).toString('latin1');
    assert.equal(
      sent,
      `GET / HTTP/1.1\r\nHost: a.test\r\nA: b\r\nC: d\r\ntraceparent: 00-${'ab'.repeat(16)}-${'ab'.repeat(8)}-01\r\n\r\n`,
    );
    assert.equal(traceIdOf(line.toString('latin1').slice('traceparent: '.length, -2)), begun);
  });
});
