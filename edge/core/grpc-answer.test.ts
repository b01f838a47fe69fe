import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { grpcAnswer, grpcTypeOf } from './grpc-answer.ts';
import { answerOfError } from './own-answer.ts';
import { unauthorized } from './visit-answer.ts';
import { visitorErrors } from './visitor-error.ts';

describe('what a gRPC client gets in place of an error page', () => {
  const types: readonly (readonly [string, string | null])[] = [
    ['application/grpc', 'application/grpc'],
    ['application/grpc+proto', 'application/grpc'],
    ['Application/gRPC; charset=x', 'application/grpc'],
    ['application/grpc-web', 'application/grpc-web'],
    ['application/grpc-web+proto', 'application/grpc-web'],
    ['application/grpc-web-text', 'application/grpc-web-text'],
    ['application/grpc-web-text+proto', 'application/grpc-web-text'],
    ['application/grpcx', null],
    ['application/grpc-other', null],
    ['text/html, application/grpc', null],
    ['', null],
  ];
  for (const [text, type] of types) it(`knows '${text}' as ${type}`, () => assert.equal(grpcTypeOf(text), type));

  it('is UNAUTHENTICATED without a session or token, and says where tokens come from', () => {
    const { status, body, fields } = grpcAnswer(unauthorized('a.example', 'a.example', '', false, false), 'application/grpc');
    assert.deepEqual([status, body, fields['grpc-status'], fields['content-type']], [200, '', '16', 'application/grpc']);
    assert.match(String(fields['www-authenticate']), /^Bearer /);
  });

  for (const [code, expected] of [
    ['UNDERPASS_VISIT_DENIED', '7'],
    ['UNDERPASS_SOURCE_DENIED', '7'],
    ['UNDERPASS_UPSTREAM_REFUSED', '14'],
    ['UNDERPASS_NO_CLIENT', '14'],
    ['UNDERPASS_UPSTREAM_TIMEOUT', '14'],
    ['UNDERPASS_NO_SUCH_HOST', '12'],
    ['UNDERPASS_HEAD_TOO_LARGE', '2'],
  ] as const) {
    it(`is ${expected} for ${code}`, () =>
      assert.equal(grpcAnswer(answerOfError(code), 'application/grpc').fields['grpc-status'], expected));
  }

  it('has a message that needs no escapes', () => {
    for (const { text } of Object.values(visitorErrors)) assert.match(text, /^[\x20-\x24\x26-\x7e]+$/);
  });
});
