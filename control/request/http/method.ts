// Answers a request whose path has no such method.

/** 204 to OPTIONS, which only asks (RFC 9110 9.3.7), else 405 (RFC 9110 15.5.6). A path that has GET has HEAD too. */
export function answerMethod({ method }: Request, methods: readonly string[]): Response {
  const allow = [...methods.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])), 'OPTIONS'].join(', ');
  if (method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow } });
  const headers = { allow, 'content-type': 'text/plain; charset=utf-8' };
  return new Response('Method not allowed', { status: 405, headers });
}
