// Follows a project's tunnels by server-sent events, or by polling if events do not get through. Stops while the tab is hidden.
import { urlOf } from '@underpass/rules/api/call.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { listTunnels } from '../api/tunnels.ts';
import { type LiveTunnel, parseLiveTunnel } from './live-tunnel.ts';

const POLL_MS = 10_000;
/** How often to try events again while polling. */
const EVENTS_RETRY_MS = 60_000;
/** EventSource reconnects by itself; after this many failures in a row, a proxy probably blocks it. */
const FAILURES_BEFORE_POLLING = 3;

export interface LiveFeedHandlers {
  readonly onTunnel: (tunnel: LiveTunnel) => void;
  /** The feed is back: the page should reload what it missed. */
  readonly onCaughtUp: () => void;
}

/** Runs until the returned function is called. */
export function followTunnels(projectId: string, handlers: LiveFeedHandlers): () => void {
  let stop: (() => void) | undefined;
  const restart = () => {
    stop?.();
    stop = document.hidden ? undefined : run(projectId, handlers);
  };
  const onVisibility = () => {
    restart();
    if (!document.hidden) handlers.onCaughtUp();
  };
  document.addEventListener('visibilitychange', onVisibility);
  restart();
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    stop?.();
  };
}

function run(projectId: string, handlers: LiveFeedHandlers): () => void {
  const controller = new AbortController();
  let stopEvents = () => {};
  const poll = () => {
    stopEvents = () => {};
    void pollTunnels(projectId, handlers, controller.signal).then(() => {
      if (!controller.signal.aborted) stopEvents = openEvents(projectId, handlers, poll);
    });
  };
  stopEvents = openEvents(projectId, handlers, poll);
  return () => {
    controller.abort();
    stopEvents();
  };
}

function openEvents(projectId: string, handlers: LiveFeedHandlers, onGiveUp: () => void): () => void {
  const source = new EventSource(urlOf(tunnelCalls.streamEvents, { project: projectId }));
  let failures = 0;
  source.addEventListener('tunnel', (event) => {
    const tunnel = parseLiveTunnel(event.data);
    if (tunnel) handlers.onTunnel(tunnel);
  });
  source.addEventListener('open', () => {
    if (failures > 0) handlers.onCaughtUp();
    failures = 0;
  });
  source.addEventListener('error', () => {
    failures++;
    if (source.readyState !== EventSource.CLOSED && failures < FAILURES_BEFORE_POLLING) return;
    source.close();
    onGiveUp();
  });
  return () => source.close();
}

/** Ends after EVENTS_RETRY_MS, or when aborted. */
async function pollTunnels(projectId: string, handlers: LiveFeedHandlers, signal: AbortSignal): Promise<void> {
  for (let waited = 0; waited < EVENTS_RETRY_MS && !signal.aborted; waited += POLL_MS) {
    try {
      for (const tunnel of await listTunnels(projectId, signal, true)) handlers.onTunnel(tunnel);
    } catch {
      // The next round asks again. If the session has ended, the user's next action shows it, so an open form stays.
    }
    await waitFor(POLL_MS, signal);
  }
}

function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
