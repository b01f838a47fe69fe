// What a gRPC client gets in place of an error page: a status of gRPC, which its library gives to the program that calls.

import type { OwnAnswer } from './own-answer.ts';
import { visitorErrors } from './visitor-error.ts';

/** The kinds of bodies of gRPC, longest first; gRPC-Web is what browsers send. */
const grpcTypes = ['application/grpc-web-text', 'application/grpc-web', 'application/grpc'] as const;

export type GrpcType = (typeof grpcTypes)[number];

/** `contentType`: of a request. Null for a request that is no call of gRPC. */
export function grpcTypeOf(contentType: string): GrpcType | null {
  const text = contentType.toLowerCase();
  return grpcTypes.find((type) => text.startsWith(type) && /^($|[+;\s])/.test(text.slice(type.length))) ?? null;
}

/** gRPC's own table of HTTP statuses, and its code UNKNOWN for the others. */
const statusOf: Readonly<Record<number, number>> = { 303: 16, 400: 13, 401: 16, 403: 7, 404: 12, 502: 14, 503: 14, 504: 14 };
const unknown = 2;

/** The status is in the head, and there is no body: what gRPC calls Trailers-Only. */
export function grpcAnswer(answer: OwnAnswer, type: GrpcType): OwnAnswer {
  const { code, status } = answer;
  if (code === null || status < 300) return answer;
  const challenge = answer.fields['www-authenticate'];
  const fields = {
    'content-type': type,
    'grpc-status': String(statusOf[status] ?? unknown),
    // Percent-encoded in gRPC; these texts are ASCII without a percent sign.
    'grpc-message': `${code}: ${visitorErrors[code].text}`,
    'cache-control': 'no-store',
    'underpass-error': code,
    ...(challenge === undefined ? {} : { 'www-authenticate': challenge }),
  };
  return { code, status: 200, fields, body: '' };
}
