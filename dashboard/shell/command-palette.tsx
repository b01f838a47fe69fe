// The command palette: finds pages, tunnels, domains, groups, access policies, projects and actions. Loads when it first opens.
import { Autocomplete } from '@base-ui/react/autocomplete';
import { Dialog } from '@base-ui/react/dialog';
import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import { domainCalls } from '@underpass/rules/api/domain-calls.ts';
import { securityGroupCalls } from '@underpass/rules/api/security-group-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { searchMostChars } from '@underpass/rules/list/list-page.ts';
import { Search } from 'lucide-react';
import { useNavigate } from 'react-router';
import { callApi } from '../api/request.ts';
import { useFetched } from '../api/use-fetched.ts';
import type { ShellData } from '../session/session.ts';
import { writeClipboard } from '../ui/copy-button.tsx';
import { backdropClass } from '../ui/overlay/dialog-frame.tsx';
import { toast } from '../ui/overlay/toast.tsx';
import { useOverlayLayer } from '../ui/overlay/use-overlay-layer.ts';
import { Ring } from '../ui/spinner.tsx';
import { keepTheme } from '../ui/theme.ts';
import { useLast } from '../ui/use-last.ts';
import { type Command, type CommandGroup, commandGroups, nothingFound, type ProjectContents, withoutVerb } from './commands.ts';
import { useLogOut } from './use-log-out.ts';

/** The most matches to show; further typing narrows them. */
const shownMatches = 50;

export interface CommandPaletteProps extends ShellData {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly query: string;
  readonly onQueryChange: (query: string) => void;
  /** Called when the input has the focus. */
  readonly onReady: () => void;
}

export function CommandPalette({ open, onOpenChange, ...palette }: CommandPaletteProps) {
  const layer = useOverlayLayer(open, onOpenChange);
  return (
    <Dialog.Root open={open} onOpenChange={layer.onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className={backdropClass} />
        <Dialog.Viewport className="fixed inset-0 z-50 flex items-start justify-center overflow-hidden px-3 pt-[12vh]">
          <Dialog.Popup
            aria-label="Command palette"
            className="w-full max-w-xl overflow-hidden rounded-lg border bg-raised text-ink shadow-overlay outline-none transition duration-150 ease-out data-ending-style:opacity-0 data-starting-style:-translate-y-2 data-starting-style:opacity-0"
          >
            <Palette {...palette} onDone={() => onOpenChange(false)} />
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

type PaletteProps = Omit<CommandPaletteProps, 'open' | 'onOpenChange'> & { readonly onDone: () => void };

function Palette({ onDone, query, onQueryChange, onReady, ...shell }: PaletteProps) {
  const navigate = useNavigate();
  const logOut = useLogOut();
  const contents = useContents(shell.project?.id, query);
  const run = (command: Command) => {
    onDone();
    if (command.theme) keepTheme(command.theme);
    else if (command.copies) copyAddress(command.copies);
    else if (command.opens) open(command.opens, '_blank', 'noopener');
    else if (command.logsOut) logOut();
    else if (command.to) navigate(command.to);
  };
  return (
    <Autocomplete.Root
      open
      inline
      items={commandGroups(shell, query, contents.data)}
      filter={null}
      value={query}
      onValueChange={onQueryChange}
      autoHighlight="always"
      keepHighlight
      limit={shownMatches}
    >
      <div className="flex items-center gap-3 border-b px-4">
        {contents.busy ? <Ring /> : <Search aria-hidden="true" className="size-4 shrink-0 text-ink-faint" />}
        <Autocomplete.Input
          aria-label="Search pages, tunnels, domains and actions"
          placeholder="Go to…"
          onFocus={onReady}
          className="h-13 w-full bg-transparent text-lg outline-none placeholder:text-ink-faint"
        />
        <Dialog.Close
          className="rounded-sm border px-1.5 text-xs text-ink-soft hover:bg-hover"
          aria-label="Esc: close command palette"
        >
          Esc
        </Dialog.Close>
      </div>
      <Autocomplete.Empty>
        <p className="px-4 py-8 text-center text-ink-soft">Nothing found.</p>
      </Autocomplete.Empty>
      <Autocomplete.List className="max-h-[min(60dvh,26rem)] overflow-y-auto p-1.5 empty:hidden">
        {(group: CommandGroup) => <Group key={group.value} group={group} onRun={run} />}
      </Autocomplete.List>
    </Autocomplete.Root>
  );
}

function copyAddress(url: string): void {
  writeClipboard(url);
  toast.done('Address copied.', url);
}

function Group({ group, onRun }: { readonly group: CommandGroup; readonly onRun: (command: Command) => void }) {
  return (
    <Autocomplete.Group items={group.items} className="mb-1">
      <Autocomplete.GroupLabel className="px-2.5 pt-2 pb-1 text-sm font-semibold text-ink-faint">
        {group.value}
      </Autocomplete.GroupLabel>
      <Autocomplete.Collection>
        {(command: Command) => (
          <Autocomplete.Item
            key={command.value}
            value={command}
            onClick={() => onRun(command)}
            className="flex min-h-9 cursor-default items-center gap-3 rounded-sm px-2.5 outline-none select-none data-highlighted:bg-accent-soft"
          >
            <span className="min-w-0 flex-1 py-1 wrap-anywhere">{command.label}</span>
            {command.detail && <span className="max-w-1/2 truncate font-mono text-sm text-ink-faint">{command.detail}</span>}
          </Autocomplete.Item>
        )}
      </Autocomplete.Collection>
    </Autocomplete.Group>
  );
}

/** The server finds a project's things. What it found before stays until it answers. */
function useContents(projectId: string | undefined, query: string) {
  const { data, busy } = useFetched({
    key: `palette ${projectId} ${query}`,
    fetch: (signal) => findContents(projectId, query, signal),
  });
  return { data: useLast(data), busy };
}

/** Leaves out a list that fails to load: pages and actions still work. */
async function findContents(project: string | undefined, query: string, signal: AbortSignal): Promise<ProjectContents> {
  if (project === undefined) return nothingFound;
  const asked = { project, limit: String(shownMatches), q: query.slice(0, searchMostChars) };
  const rest = withoutVerb(query);
  const listTunnels = (q: string) => callApi(tunnelCalls.listTunnels, { ...asked, q, sort: 'name' }, { signal });
  const [tunnels, named, domains, groups, policies] = await Promise.allSettled([
    listTunnels(asked.q),
    rest === undefined ? undefined : listTunnels(rest.slice(0, searchMostChars)),
    callApi(domainCalls.listDomains, { ...asked, sort: 'domain' }, { signal }),
    callApi(securityGroupCalls.listSecurityGroups, { ...asked, sort: 'name' }, { signal }),
    callApi(accessCalls.listAccessPolicies, { ...asked, sort: 'name' }, { signal }),
  ]);
  signal.throwIfAborted();
  return {
    tunnels: listOf(tunnels),
    domains: listOf(domains),
    groups: listOf(groups),
    policies: listOf(policies),
    named: rest === undefined ? undefined : listOf(named),
  };
}

const listOf = <T,>(result: PromiseSettledResult<readonly T[] | undefined>): readonly T[] =>
  (result.status === 'fulfilled' && result.value) || [];
