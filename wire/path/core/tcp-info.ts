// TCP_INFO: what the kernel knows about a connection, read from the bytes of `struct tcp_info` (linux/tcp.h). Pure.
// The kernel only ever appends members, so an older one answers with fewer bytes.

export interface TcpInfo {
  readonly minRttMs: number;
  /** Smoothed: includes the queue that this connection fills. */
  readonly rttMs: number;
  /** What the congestion control lets be under way at once. */
  readonly windowSegments: number;
  /** The window up to which the control doubles it with each round trip. Very large until the first loss. */
  readonly thresholdSegments: number;
  /** Segments with data: sent, of which sent again. */
  readonly sentSegments: number;
  readonly resentSegments: number;
  /** Arrived, to a segment; wraps after 2^32 segments. */
  readonly deliveredBytes: number;
}

/** Bytes up to tcpi_delivered, Linux 4.18. A longer buffer would only be filled with what nobody reads. */
export const tcpInfoBytes = 196;

/** Null if the kernel is too old to say all of it. Numbers are in the order of this machine: little-endian where Node runs. */
export function parseTcpInfo(bytes: Uint8Array): TcpInfo | null {
  if (bytes.length < tcpInfoBytes) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const at = (offset: number): number => view.getUint32(offset, true);
  return {
    minRttMs: at(148) / 1000,
    rttMs: at(68) / 1000,
    windowSegments: at(80),
    thresholdSegments: at(76),
    sentSegments: at(156),
    resentSegments: at(100),
    deliveredBytes: at(192) * at(16),
  };
}
