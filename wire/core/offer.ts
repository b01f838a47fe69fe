// The payload of OFFER: which hosts and ports a client has upstreams for, and which of them answer their probe.

export interface Offer {
  /** `*` (anything), a host name, `:80` or `:443`. */
  readonly key: string;
  readonly healthy: boolean;
}
