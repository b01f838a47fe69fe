// The payload of OPEN: for whom the stream is and which bytes come first. Layout: docs/protocol.md, OPEN.

export const streamKinds = ['http', 'ingress-80', 'ingress-443'] as const;
export type StreamKind = (typeof streamKinds)[number];

export interface OpenRequest {
  readonly kind: StreamKind;
  /** The host that was routed: lower-case A-labels, no port, no trailing dot. */
  readonly host: string;
  /** The visitor, as an edge saw it or as a trusted load balancer said. */
  readonly visitorAddress: string;
  readonly visitorPort: number;
  /** Raw bytes that the client writes to the upstream before anything else (a PROXY header); mostly empty. */
  readonly preface: Uint8Array;
  /** Edge-to-edge hops only: the tunnel and, where the first edge has chosen, the client. Empty on a carrier. */
  readonly tunnelId: string;
  readonly clientId: string;
}
