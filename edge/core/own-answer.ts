// What the edge answers itself: error pages, redirects and the pages of an access policy. HTTP/1.1 and HTTP/2 render the same.

import { frameColours, frameStyle, logoSvg, renderColours } from '@underpass/rules/screen/look.ts';
import type { HeadScan } from '@underpass/wire/http/head-scan.ts';
import { errorOfStatus, type VisitorError, visitorErrors } from './visitor-error.ts';

export interface OwnAnswer {
  /** What the counters count; null: no error. */
  readonly code: VisitorError | null;
  readonly status: number;
  /** Names in lower case, without those of the connection and without the length. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
}

const phrases: Readonly<Record<number, string>> = {
  200: 'OK',
  204: 'No Content',
  303: 'See Other',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  414: 'URI Too Long',
  417: 'Expectation Failed',
  421: 'Misdirected Request',
  431: 'Request Header Fields Too Large',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
  508: 'Loop Detected',
};

/** Seconds. A client that lost its carrier is usually back by then. */
const soon = { 'retry-after': '5' };

/** The service has its own list; these are the methods that the edge passes on. */
const passed = { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' };

const fieldsOf: Partial<Record<VisitorError, Readonly<Record<string, string>>>> = {
  UNDERPASS_NO_CLIENT: soon,
  UNDERPASS_BUSY: soon,
  UNDERPASS_CUT_OFF: { 'retry-after': '1' },
  UNDERPASS_SIGN_IN_UNAVAILABLE: soon,
  UNDERPASS_MAX_FORWARDS: passed,
  // RFC 9110 15.5.6 requires it.
  UNDERPASS_METHOD_NOT_ALLOWED: passed,
};

/** Fields of pages. They run no script, load nothing, and no other page may frame them. */
export const pageFields: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
};

interface Page {
  readonly title: string;
  readonly heading: string;
  readonly html: string;
  readonly small: string;
}

/** Inline, because the page loads nothing; so its font is one that the visitor's system has. */
const style = renderColours(frameColours) + frameStyle;

export function renderPage({ title, heading, html, small }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>
${style}</style>
</head>
<body>
<header><p>${logoSvg}<span>Underpass</span></p></header>
<main>
<div class="card">
<h1>${heading}</h1>
${html}
</div>
</main>
<footer><p>${small}</p></footer>
</body>
</html>
`;
}

/** `more`: HTML below the text. */
function renderErrorPage(code: VisitorError, more: string): string {
  const { status, title, text } = visitorErrors[code];
  const small = `${status} · <code>${code}</code>`;
  return renderPage({ title: `${status} ${title}`, heading: title, html: `<p class="lead">${text}</p>${more}`, small });
}

const errorAnswers = new Map<VisitorError, OwnAnswer>();

export function answerOfError(code: VisitorError): OwnAnswer {
  const known = errorAnswers.get(code);
  if (known !== undefined) return known;
  const answer = createErrorAnswer(code);
  errorAnswers.set(code, answer);
  return answer;
}

export function createErrorAnswer(code: VisitorError, more = '', fields: OwnAnswer['fields'] = {}): OwnAnswer {
  const { status } = visitorErrors[code];
  const all = { ...pageFields, 'underpass-error': code, ...fieldsOf[code], ...fields };
  return { code, status, fields: all, body: renderErrorPage(code, more) };
}

/** Answers a head that the parser refused. The reasons are fixed texts; that of a 400 tells developers more than the code. */
export function answerOfRefusedHead({ refusedStatus, refusedWhy }: Pick<HeadScan, 'refusedStatus' | 'refusedWhy'>): OwnAnswer {
  const code = errorOfStatus(refusedStatus);
  return code === 'UNDERPASS_BAD_REQUEST' ? createErrorAnswer(code, `\n<p>${refusedWhy}</p>`) : answerOfError(code);
}

/** RFC 9110 8.6: 204 has no length. */
export const lengthFields = ({ status }: OwnAnswer, bodyBytes: number): Readonly<Record<string, string>> =>
  status === 204 ? {} : { 'content-length': String(bodyBytes) };

/** A whole HTTP/1.1 response; without the body for HEAD. */
export function renderAnswer(
  answer: OwnAnswer,
  options: { readonly close: boolean; readonly headOnly: boolean; readonly date: string },
): string {
  const { status, body } = answer;
  const fields = {
    ...answer.fields,
    ...lengthFields(answer, new TextEncoder().encode(body).length),
    ...(options.close ? { connection: 'close' } : {}),
    date: options.date,
  };
  const lines = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`));
  return `HTTP/1.1 ${status} ${phrases[status] ?? 'Error'}\r\n${lines.join('')}\r\n${options.headOnly ? '' : body}`;
}

export const renderErrorResponse = (code: VisitorError, options: Parameters<typeof renderAnswer>[1]): string =>
  renderAnswer(answerOfError(code), options);
