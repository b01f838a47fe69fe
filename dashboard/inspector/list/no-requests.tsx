// Where the first request has to go, and a command that sends one.
import type { InspectState } from '@underpass/rules/inspect/exchange.ts';
import { CommandLine } from '../../ui/code/command-line.tsx';
import { NoTunnelsIllustration } from '../../ui/illustrations/no-tunnels.tsx';

export function NoRequests({ state }: { readonly state: InspectState }) {
  const urls = state.tunnels.flatMap((tunnel) => tunnel.urls);
  return (
    <div className="grid flex-1 content-center justify-items-center gap-6 overflow-y-auto px-4 py-8">
      <NoTunnelsIllustration />
      <div className="grid gap-1 text-center">
        <h2 className="text-xl font-bold">Waiting for the first request</h2>
        <p className="max-w-md text-base text-ink-soft">
          Open the tunnel's address in a browser, or send a request from a terminal. It appears here at once.
        </p>
      </div>
      <div className="grid w-full max-w-xl gap-2">
        {urls.slice(0, 3).map((url) => (
          <CommandLine key={url} command={`curl -i ${url}/`} what={`the command for ${url}`} />
        ))}
      </div>
    </div>
  );
}
