import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ResetCode, resetCodes } from '@underpass/wire/core/code.ts';
import { RequestHead } from '@underpass/wire/http/request-head.ts';
import { answerOfError, answerOfRefusedHead, renderErrorResponse } from './own-answer.ts';
import { errorOfFailure, type VisitorError, visitorErrors } from './visitor-error.ts';

it('every reset before a response has an error page', () => {
  const codes = Object.keys(resetCodes) as ResetCode[];
  const told = Object.fromEntries(codes.map((code) => [code, errorOfFailure(code).replace('UNDERPASS_', '')]));
  assert.deepEqual(told, {
    cancelled: 'UPSTREAM_BROKE',
    refused: 'NO_CLIENT',
    busy: 'BUSY',
    'no-upstream': 'NO_UPSTREAM',
    'upstream-refused': 'UPSTREAM_REFUSED',
    'upstream-timeout': 'UPSTREAM_TIMEOUT',
    'upstream-unresolved': 'UPSTREAM_UNRESOLVED',
    'upstream-tls': 'UPSTREAM_TLS',
    'upstream-unreachable': 'UPSTREAM_UNREACHABLE',
    'upstream-reset': 'UPSTREAM_BROKE',
    denied: 'SOURCE_DENIED',
    idle: 'UPSTREAM_BROKE',
    'no-client': 'NO_CLIENT',
    internal: 'UPSTREAM_BROKE',
    protocol: 'BAD_RESPONSE',
    'carrier-lost': 'CLIENT_LOST',
    'upstream-speaks-tls': 'UPSTREAM_SPEAKS_TLS',
  });
  assert.equal(errorOfFailure('hop-silent'), 'UNDERPASS_CUT_OFF');
});

it('every error has a status line with a reason, its code, and the length of its page', () => {
  for (const code of Object.keys(visitorErrors) as VisitorError[]) {
    const text = Buffer.from(
      renderErrorResponse(code, { close: true, headOnly: false, date: 'Sun, 22 Nov 2026 08:49:37 GMT' }),
    ).toString();
    const [head = '', page = ''] = text.split(/\r\n\r\n/);
    assert.match(head, new RegExp(`^HTTP/1\\.1 ${visitorErrors[code].status} [A-Z][\\w ]+\\r\\n`), code);
    assert.match(head, new RegExp(`\\r\\nunderpass-error: ${code}(\\r\\n|$)`));
    assert.match(head, /\r\ndate: Sun, 22 Nov 2026 08:49:37 GMT(\r\n|$)/);
    assert.equal(Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]), Buffer.byteLength(page));
  }
});

it('says what is wrong with a head that is not well-formed', () => {
  const head = new RequestHead();
  const bytes = Buffer.from('GET / HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n');
  assert.equal(head.scan(bytes, 0, bytes.length), -1);
  const { code, body } = answerOfRefusedHead(head);
  assert.equal(code, 'UNDERPASS_BAD_REQUEST');
  assert.match(body, /not well-formed HTTP\.<\/p>\n<p>There is more than one Host field\.<\/p>/);
});

it('sends Retry-After if a retry may help, and Allow with 405 and when the edge answers OPTIONS', () => {
  const codes = Object.keys(visitorErrors) as VisitorError[];
  const saying = (field: string) => codes.filter((code) => field in answerOfError(code).fields);
  assert.deepEqual(saying('retry-after'), [
    'UNDERPASS_NO_CLIENT',
    'UNDERPASS_CUT_OFF',
    'UNDERPASS_BUSY',
    'UNDERPASS_SIGN_IN_UNAVAILABLE',
  ]);
  // RFC 9110 15.5.6.
  assert.deepEqual(saying('allow'), ['UNDERPASS_MAX_FORWARDS', 'UNDERPASS_METHOD_NOT_ALLOWED']);
});
