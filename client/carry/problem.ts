// Every problem of a running tunnel: code, title, fix. The command line prints `title: detail. fix` in one line.
// Match on the code, never on a message.

export const problems = {
  'url-invalid': {
    title: 'That is not the URL of a tunnel',
    fix: 'Copy it from the Connect section: https://HOST[:PORT][#ca=...].',
  },
  'name-unresolved': {
    title: 'The name of the region does not resolve',
    fix: 'Check --url, the DNS of this machine and its connection to the internet.',
  },
  'edge-unreachable': {
    title: 'The region cannot be reached',
    fix: 'Check that outgoing connections to this host and port are allowed; behind a proxy set HTTPS_PROXY.',
  },
  'edge-timeout': { title: 'The region does not answer in time', fix: 'Check the network. The client keeps trying.' },
  'certificate-unknown': {
    title: 'The certificate of the region is not trusted',
    fix: 'Copy the URL again from the Connect section. If a proxy here replaces certificates, give its CA with --ca.',
  },
  'certificate-name': {
    title: 'The certificate of the region is for another name',
    fix: 'Check that --url is the one of the Connect section.',
  },
  'certificate-expired': {
    title: 'The certificate of the region is expired or not yet valid',
    fix: 'Check the clock of this machine; if it is right, tell the operator.',
  },
  'not-underpass': {
    title: 'The server that answered is not Underpass',
    fix: 'Check --url. A captive portal or a proxy may have answered instead.',
  },
  'token-refused': {
    title: 'The token is refused',
    fix: 'It was rotated, its tunnel was deleted, or it belongs to another region: copy it again from the Connect section.',
  },
  'tunnel-suspended': { title: 'The tunnel is suspended', fix: 'Ask the operator. The client keeps trying.' },
  'wrong-type': {
    title: 'The token belongs to a tunnel of another type',
    fix: 'Use "underpass http" for http, "underpass ingress" for ingress and "underpass tcp" for tcp tunnels, or copy the token of the tunnel that you mean.',
  },
  'tunnel-private': {
    title: 'The tunnel is private, and this client was not told so',
    fix: 'Add --private, or "private: true" in the file, so that this client serves nobody in plain text.',
  },
  'tunnel-public': {
    title: 'The tunnel is not private',
    fix: 'Leave out --private if it has a public port. If it has none, the region is too old for private tunnels: tell the operator.',
  },
  version: {
    title: 'This client and the region share no protocol version',
    fix: 'Run "underpass update". If this client is the newest, ask the operator to update the region.',
  },
  'too-many-clients': {
    title: 'Too many clients are connected to this tunnel',
    fix: 'Stop another client. This one keeps trying.',
  },
  'edge-busy': { title: 'The region is not ready', fix: 'The client keeps trying.' },
  'connection-lost': { title: 'The connection to the region was lost', fix: 'The client keeps trying.' },
  'proxy-unreachable': {
    title: 'The HTTP proxy cannot be reached',
    fix: 'Check HTTPS_PROXY, or exempt the host with NO_PROXY.',
  },
  'proxy-refused': {
    title: 'The HTTP proxy refuses the connection',
    fix: 'Check user and password in HTTPS_PROXY, and that the proxy allows CONNECT to this host and port.',
  },
  'proxy-invalid': { title: 'HTTPS_PROXY is not a proxy URL', fix: 'Write it like http://user:password@proxy.example:3128.' },
  'upstream-refused': { title: 'The upstream refuses connections', fix: 'Start the service there, or correct --upstream.' },
  'upstream-timeout': {
    title: 'The upstream does not answer in time',
    fix: 'Check that the service runs and is reachable.',
  },
  'upstream-unresolved': { title: 'The name of the upstream does not resolve', fix: 'Correct --upstream.' },
  'upstream-unreachable': {
    title: 'The upstream cannot be reached',
    fix: 'Check the network between this machine and the upstream. For a Unix socket (EACCES), let the user of this client read and write the socket.',
  },
  'upstream-tls': {
    title: 'TLS to the upstream fails',
    fix: 'Give its CA with --upstream-ca FILE, accept any certificate with --upstream-insecure, or use http:// if it does not speak TLS.',
  },
  'upstream-speaks-tls': {
    title: 'The upstream speaks TLS, and this client sends plain HTTP',
    fix: 'Write it with https:// in --upstream, or give a port that speaks plain HTTP.',
  },
  'upstream-not-http': {
    title: 'The upstream does not answer in HTTP/1.1',
    fix: 'Check the port. Write a gRPC service with h2c:// in --upstream. If only WebSockets fail, the service does not know the public name: try --upstream-host upstream, or add the name to its allowed origins.',
  },
  'upstream-not-http2': {
    title: 'The upstream does not speak HTTP/2',
    fix: 'Write it with http:// or https:// in --upstream; for gRPC use h2c://, or https+h2:// if the service speaks TLS.',
  },
  'no-visitors': {
    title: 'A domain in --upstream gets no visitors',
    fix: 'Correct it, or add the domain to the tunnel and verify it.',
  },
  'no-upstream': {
    title: 'This client has no upstream for what a visitor asked for',
    fix: 'Add it with --upstream, or check that the tunnel has the type of this command.',
  },
} as const satisfies Record<string, { readonly title: string; readonly fix: string }>;

export type ProblemCode = keyof typeof problems;

export interface Problem {
  readonly code: ProblemCode;
  /** The host, the upstream or the system's message. No secrets. */
  readonly detail: string;
}

export class CarryError extends Error {
  readonly problem: Problem;
  /** How long the edge asked the client to wait, if it did. */
  readonly retryAfterMs: number | null;

  constructor(code: ProblemCode, detail: string, retryAfterMs: number | null = null) {
    super(`${problems[code].title}: ${detail}`);
    this.problem = { code, detail };
    this.retryAfterMs = retryAfterMs;
  }
}

export const renderProblem = ({ code, detail }: Problem): string =>
  `${problems[code].title}${detail === '' ? '' : `: ${detail}`}. ${problems[code].fix}`;
