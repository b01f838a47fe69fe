// The client's command line for one tunnel. All three snippets are rendered from it.
// The token is never part of it: the client reads it from a file.

export interface ConnectTunnel {
  readonly name: string;
  /** What the client dials; holds `#ca=` if the region's CA is private. */
  readonly url: string;
  /** Masked or whole: snippets copy it unchanged. */
  readonly token: string;
  readonly underpassVersion: string;
  /** A tcp tunnel without a public port: its client must be told so where it runs. */
  readonly isPrivate?: boolean;
  /** The client of a private tunnel serves only tickets that were made with its key. */
  readonly ticketsOnly?: boolean;
}

/** `--upstream` values as the user typed them: `domain=url` for http; a host, or one value per port, for ingress; HOST:PORT for tcp. */
export type ConnectUpstreams =
  | { readonly type: 'http'; readonly upstreams: readonly { readonly domain: string; readonly upstream: string }[] }
  | { readonly type: 'ingress'; readonly upstream: string | readonly string[] }
  | { readonly type: 'tcp'; readonly upstream: string };

/** The subcommand, then one group per flag with its value, in reading order. */
export function commandGroups(
  tunnel: Pick<ConnectTunnel, 'url' | 'isPrivate' | 'ticketsOnly'>,
  upstreams: ConnectUpstreams,
  words: { readonly quote: (word: string) => string; readonly tokenFile: string; readonly keyFile?: string },
): readonly (readonly string[])[] {
  return [
    [upstreams.type],
    ...(tunnel.isPrivate
      ? [
          ['--private'],
          ...(tunnel.ticketsOnly ? [['--tickets-only']] : []),
          ...(words.keyFile === undefined ? [] : [['--key-file', words.keyFile]]),
        ]
      : []),
    ['--url', words.quote(tunnel.url)],
    ['--token-file', words.tokenFile],
    ...upstreamValues(upstreams).map((value) => ['--upstream', words.quote(value)]),
  ];
}

function upstreamValues(upstreams: ConnectUpstreams): readonly string[] {
  if (upstreams.type !== 'http') return [upstreams.upstream].flat();
  return upstreams.upstreams.map(({ domain, upstream }) => `${domain}=${upstream}`);
}
