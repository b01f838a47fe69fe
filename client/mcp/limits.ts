// Bounds of `underpass mcp`. With all seats taken and no visitor reading, it holds some hundreds of megabytes; usually a few.

export const mcpLimits = {
  /** A message of a client. */
  bodyBytes: 4 * 1024 * 1024,
  bodyMs: 30_000,
  /** Messages of one visitor that are read, or wait until a server is open. */
  arriving: 32,
  /** A message of the server: screenshots are the largest. */
  lineBytes: 8 * 1024 * 1024,
  /** What waits for the server to read it. */
  unreadBytes: 8 * 1024 * 1024,
  /** What waits for a client to read it, before its connection ends. */
  queuedBytes: 16 * 1024 * 1024,
  /** Answers of one visitor that are open, and the bytes that wait for this visitor, or for all, to read them. */
  answers: { perVisitor: 128, unreadBytes: 32 * 1024 * 1024, allUnreadBytes: 256 * 1024 * 1024 },
  /** Server processes, and those of one visitor. */
  seats: { total: 32, perVisitor: 8, idleMs: 30 * 60_000 },
  /** Sessions that share a server. */
  sharedSeats: { total: 256, perVisitor: 64, idleMs: 30 * 60_000 },
  /** A server that ends sooner waits before its next start. */
  earlyMs: 5_000,
  probeMs: 5_000,
  /** Open requests of one session, or of one visitor without a session. */
  requests: 32,
  /** Kept for clients that come back after a broken connection, in each session. */
  events: { count: 512, bytes: 2 * 1024 * 1024 },
  /** An answer that comes sooner is one JSON object; a later one comes on an event stream. */
  streamAfterMs: 1_000,
  keepAliveMs: 25_000,
  /** The time from a request, or the last word on its progress, to its answer. */
  answerMs: 10 * 60_000,
  longestAnswerMs: 60 * 60_000,
  /** The time from the start of a server to its first answer: `npx` may download it first. */
  startMs: 60_000,
  /** The time after the end of its input, and after SIGTERM, until the next means. */
  endMs: 2_000,
  sweepMs: 5_000,
  /** The log: the longest line, and lines in a second. */
  logLineChars: 1_000,
  logLines: 20,
};

export type McpLimits = typeof mcpLimits;
