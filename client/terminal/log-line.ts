// An event of a tunnel as a log line: text for people, JSON for programs.
import { printable, renderJson } from './output.ts';

export interface LogEvent {
  readonly tunnel: string;
  readonly event:
    | 'opened'
    | 'connected'
    | 'ready'
    | 'disconnected'
    | 'problem'
    | 'upstream-up'
    | 'upstream-down'
    | 'request-failed'
    | 'draining'
    | 'stopped'
    | 'reloaded'
    | 'inspecting'
    | 'traffic'
    | 'ssh-opened'
    | 'ssh-refused'
    | 'ssh-failed'
    | 'reach-opened'
    | 'reach-refused'
    | 'reach-failed'
    | 'server-log'
    | 'server-ended';
  readonly edge?: string;
  readonly address?: string;
  /** Public addresses of the tunnel. */
  readonly urls?: readonly string[];
  readonly upstream?: string;
  readonly host?: string;
  /** Address and port of a visitor. */
  readonly visitor?: string;
  /** Address and port from which the upstream sees the connection. */
  readonly from?: string;
  /** Code of a problem: stable, for programs to match. */
  readonly code?: string;
  /** What is wrong, and what to do: the text of a problem. */
  readonly text?: string;
  readonly retryMs?: number;
  /** Connections of visitors that reached the client. Several requests may follow each other on one. */
  readonly visits?: number;
  /** The same number under its former name, in JSON only. Goes with the next version. */
  readonly requests?: number;
  readonly rxBytes?: number;
  readonly txBytes?: number;
}

export function renderLogLine(event: LogEvent, atMs: number, json: boolean): string {
  const at = new Date(atMs).toISOString();
  if (json) return `${renderJson({ at, ...event })}\n`;
  const { tunnel, event: what, text, requests: _, ...details } = event;
  const pairs = Object.entries(details).map(([key, value]) => `${key}=${value}`);
  const line = [at, tunnel, what, ...pairs].join(' ') + (text === undefined ? '' : `: ${text}`);
  return `${printable(line.replaceAll('\n', ' '))}\n`;
}
