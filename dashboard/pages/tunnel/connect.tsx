// How to connect a client, as three kinds of snippet (spec 2, Connect section). rules/connect/ renders them.
import {
  type ConnectInputs,
  connectErrors,
  defaultConnectInputs,
  renderConnectSnippet,
} from '@underpass/rules/connect/connect-form.ts';
import { type SnippetTab, snippetTabs } from '@underpass/rules/connect/snippet.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { isPrivateTunnel } from '@underpass/rules/tunnel/tcp-address.ts';
import { maskToken } from '@underpass/rules/tunnel/token-mask.ts';
import { Eye, EyeOff } from 'lucide-react';
import { useState } from 'react';
import { keep, readKept } from '../../session/kept.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { CopyTextButton } from '../../ui/copy-button.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { ConnectFields } from './connect-fields.tsx';

const connectTabs = snippetTabs.map(({ id, label }) => ({ value: id, label }));

export function Connect({ tunnel }: { readonly tunnel: Tunnel }) {
  const [tab, setTab] = useState(lastTab);
  const [typed, setTyped] = useState<TypedInputs>({});
  const place = tab === 'kubernetes' ? 'cluster' : 'machine';
  const current = withDomainsOf(defaultConnectInputs(tunnel, tab), typed[place]);
  const errors = connectErrors(current, tab);
  const chooseTab = (next: SnippetTab) => {
    keep(tabKey, next);
    setTab(next);
  };
  return (
    <Tabs label="Ways to connect" value={tab} onChange={chooseTab} tabs={connectTabs}>
      <div className="grid gap-4">
        <ConnectFields tab={tab} inputs={current} errors={errors} onChange={(next) => setTyped({ ...typed, [place]: next })} />
        <SnippetView tunnel={tunnel} inputs={current} tab={tab} blocked={Object.keys(errors).length > 0} />
      </div>
    </Tabs>
  );
}

/** An application has one address in its cluster and another on its machine. */
type TypedInputs = Readonly<Partial<Record<'cluster' | 'machine', ConnectInputs>>>;

const tabKey = 'connect-tab';

/** The tab that the user chose last; at first CLI, which works on every machine. */
const lastTab = (): SnippetTab => snippetTabs.find(({ id }) => id === readKept(tabKey))?.id ?? 'cli';

/** Follows the tunnel's domains: a domain keeps its typed upstream, a new domain gets the default. */
function withDomainsOf(fresh: ConnectInputs, inputs: ConnectInputs = fresh): ConnectInputs {
  if (inputs.type !== 'http' || fresh.type !== 'http') return inputs;
  const typed = new Map(inputs.upstreams.map(({ domain, upstream }) => [domain, upstream]));
  return {
    type: 'http',
    upstreams: fresh.upstreams.map(({ domain, upstream }) => ({ domain, upstream: typed.get(domain) ?? upstream })),
  };
}

interface SnippetViewProps {
  readonly tunnel: Tunnel;
  readonly inputs: ConnectInputs;
  readonly tab: SnippetTab;
  /** An input is invalid, so the snippet cannot be copied. */
  readonly blocked: boolean;
}

function SnippetView({ tunnel, inputs, tab, blocked }: SnippetViewProps) {
  const [revealed, setRevealed] = useState(false);
  const token = tunnel.token ?? '';
  const isPrivate = isPrivateTunnel(tunnel);
  const shown = renderConnectSnippet({ ...tunnel, isPrivate, token: revealed ? token : maskToken(token) }, inputs, tab);
  const copied = renderConnectSnippet({ ...tunnel, isPrivate, token }, inputs, tab);
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap justify-end gap-2">
        <Button
          size="sm"
          variant="quiet"
          icon={revealed ? <EyeOff aria-hidden="true" /> : <Eye aria-hidden="true" />}
          onClick={() => setRevealed(!revealed)}
        >
          {revealed ? 'Hide token' : 'Show token'}
        </Button>
        <CopyTextButton text={copied.text} disabled={blocked} />
      </div>
      <CodeBlock sections={shown.sections} label={`${snippetTabs.find(({ id }) => id === tab)?.label} snippet`} />
    </div>
  );
}
