// Redirects that the browser follows with GET (RFC 9110 15.4.4).

export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(null, { status: 303, headers: { location, ...headers } });
