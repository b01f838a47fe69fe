// The payload of HELLO and INFO: versions, windows and what a side says about itself. Layout: docs/protocol.md, HELLO.

/** What a side says about itself. Unknown members are ignored, all are optional. */
export interface Info {
  /** Name and version, `underpass/0.1.0`. */
  readonly software?: string;
  /** An edge's id: equal ids are the same edge. */
  readonly edge?: string;
  readonly region?: string;
  /** How many edges the region has now, so that a client knows whether a second one can be had. */
  readonly edges?: number;
  /** The tunnel's name and public URLs, for the client's live status. */
  readonly tunnel?: string;
  readonly urls?: readonly string[];
}
