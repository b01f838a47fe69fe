// Follows a project's tunnels by server-sent events, or by polling if events do not get through. Stops while the tab is hidden.
import { urlOf } from '@underpass/rules/api/call.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Role } from '@underpass/rules/entity/entity.ts';
import type { MembershipNews } from '@underpass/rules/entity/resource.ts';
import { isApiError } from '../api/error.ts';
import { pause } from '../api/pause.ts';
import { listTunnels } from '../api/tunnels.ts';
import { type LinkWatch, watchLink } from './live-link.ts';
import { type LiveTunnel, parseLiveTunnel, parseLiveTunnels, parseMembership } from './live-tunnel.ts';

/** Less than the silence after which the page says that updates have stopped (live-link.ts). */
const pollMs = 5000;
const failedPollMs = 10_000;
/** How often to try events again while polling. */
const eventsRetryMs = 60_000;
/** EventSource reconnects by itself; after this many failures in a row, a proxy probably blocks it. */
const failuresBeforePolling = 3;
/**
 * Chromium closes the events of a page that a person leaves or reloads, and tells it. The page is gone before this time is
 * over.
 */
const leavingMs = 250;

export interface LiveFeedHandlers {
  readonly onTunnel: (tunnel: LiveTunnel) => void;
  /** Tunnels were made or deleted. */
  readonly onListChanged: () => void;
  /** The feed is back, or the session has ended: the page should reload what it missed, and learns which it is. */
  readonly onCaughtUp: () => void;
  /** The person has another role in the project, or none. */
  readonly onMembership: (news: MembershipNews) => void;
}

export interface Followed {
  readonly project: string;
  /** The person's, as the page knows it. The feed tells at once if it is another one by now. */
  readonly role: Role;
  /** The one whose metrics are shown too. */
  readonly tunnel?: string | undefined;
}

interface Feed extends LiveFeedHandlers {
  readonly followed: Followed;
  readonly watch: LinkWatch;
  readonly signal: AbortSignal;
}

/** Runs until the returned function is called. */
export function followTunnels(followed: Followed, handlers: LiveFeedHandlers): () => void {
  let heardAtMs = Date.now();
  let stop: (() => void) | undefined;
  const restart = () => {
    stop?.();
    stop = document.hidden ? undefined : run(followed, handlers, heardAtMs);
  };
  const onVisibility = () => {
    if (document.hidden) heardAtMs = Date.now();
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

function run(followed: Followed, handlers: LiveFeedHandlers, heardAtMs: number): () => void {
  const controller = new AbortController();
  let stopEvents: (() => void) | undefined;
  const poll = () => {
    if (!stopEvents) return;
    stopEvents();
    stopEvents = undefined;
    void pollTunnels(feed).then(() => {
      if (!controller.signal.aborted) stopEvents = openEvents(feed, poll);
    });
  };
  const feed: Feed = { ...handlers, followed, watch: watchLink(heardAtMs, poll), signal: controller.signal };
  stopEvents = openEvents(feed, poll);
  return () => {
    controller.abort();
    stopEvents?.();
    feed.watch.end();
  };
}

function openEvents({ followed, watch, ...on }: Feed, onGiveUp: () => void): () => void {
  const source = new EventSource(urlOf(tunnelCalls.streamEvents, { ...followed, brief: '1' }));
  let failures = 0;
  let closed: ReturnType<typeof setTimeout>;
  source.addEventListener('tunnel', (event) => {
    watch.hear();
    const tunnel = parseLiveTunnel(event.data);
    if (tunnel) on.onTunnel(tunnel);
  });
  source.addEventListener('tunnels', (event) => {
    watch.hear();
    const tunnels = parseLiveTunnels(event.data);
    for (const tunnel of tunnels) on.onTunnel(tunnel);
    // The tunnel of the page was deleted after the page asked for it.
    if (followed.tunnel !== undefined && tunnels.every(({ name }) => name !== followed.tunnel)) on.onListChanged();
  });
  source.addEventListener('beat', () => watch.hear());
  source.addEventListener('list', on.onListChanged);
  source.addEventListener('membership', (event) => on.onMembership(parseMembership(event.data)));
  source.addEventListener('open', () => {
    if (watch.hear() || failures > 0) on.onCaughtUp();
    failures = 0;
  });
  source.addEventListener('error', () => {
    failures++;
    if (failures >= failuresBeforePolling) onGiveUp();
    else if (source.readyState === EventSource.CLOSED) closed = setTimeout(onGiveUp, leavingMs);
  });
  return () => {
    clearTimeout(closed);
    source.close();
  };
}

/** Ends after eventsRetryMs, when the server is back, or when aborted. */
async function pollTunnels(feed: Feed): Promise<void> {
  let before: Poll = 'worked';
  let listed: string | undefined;
  const onNames = (names: string) => {
    if (listed !== undefined && names !== listed) feed.onListChanged();
    listed = names;
  };
  for (let waited = 0; waited < eventsRetryMs && !feed.signal.aborted; ) {
    const poll = await pollOnce(feed, onNames);
    // Report an ended session or membership once, as a notice, so that an open form stays.
    const isNews = poll === 'worked' ? feed.watch.hear() : poll === 'shut-out' && before !== poll;
    if (isNews) feed.onCaughtUp();
    if (poll === 'worked' && before !== 'worked') return;
    before = poll;
    const pauseMs = poll === 'worked' ? pollMs : failedPollMs;
    await pause(pauseMs, feed.signal);
    waited += pauseMs;
  }
}

/** `shut-out`: the session has ended, or the person is no longer in the project. */
type Poll = 'worked' | 'shut-out' | 'failed';

async function pollOnce({ followed, onTunnel, signal }: Feed, onNames: (names: string) => void): Promise<Poll> {
  try {
    const tunnels = await listTunnels(followed.project, signal);
    for (const tunnel of tunnels) onTunnel(tunnel);
    onNames(tunnels.map(({ name }) => name).join(' '));
    return 'worked';
  } catch (error) {
    return isApiError(error) && [401, 403, 404].includes(error.status) ? 'shut-out' : 'failed';
  }
}
