// Creates a tunnel (spec 2, New Tunnel panel). What was typed survives a failure and is gone after a success.
import type { Project, Region } from '@underpass/rules/entity.ts';
import { capitaliseFirst, text } from '@underpass/rules/text.ts';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { messageOf } from '../../api/error.ts';
import { createTunnel, listRegions, type NewTunnel } from '../../api/tunnels.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useLeadOn } from '../../api/use-lead-on.ts';
import { usePanelTask } from '../../api/use-task.ts';
import { paths } from '../../routing/paths.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { PanelActions, PanelBody, SidePanel } from '../../ui/side-panel.tsx';
import { LoadingArea } from '../../ui/spinner.tsx';
import { toast } from '../../ui/toast.tsx';
import { NewTunnelFields } from './new-tunnel-fields.tsx';
import { initialForm, type NewTunnelForm, parseNewTunnel } from './new-tunnel-form.ts';

export interface NewTunnelPanelProps {
  readonly project: Project;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export function NewTunnelPanel({ project, open, onOpenChange }: NewTunnelPanelProps) {
  const leadOn = useLeadOn();
  const task = usePanelTask(open, async (tunnel: NewTunnel) => {
    await createTunnel(project.id, tunnel);
    toast.done(`Tunnel ${tunnel.name} created.`);
    // Back leads to the list, not to the panel that has done its work.
    await leadOn(paths.tunnel(project.id, tunnel.name), { replace: true });
  });
  return (
    <SidePanel
      open={open}
      onOpenChange={onOpenChange}
      title={text.tunnels.newTitle}
      description={text.tunnels.newText}
      busy={task.busy}
    >
      <PanelContent
        busy={task.busy}
        error={task.error}
        onDismiss={task.dismiss}
        onCreate={task.run}
        onCancel={() => onOpenChange(false)}
      />
    </SidePanel>
  );
}

interface PanelContentProps {
  readonly busy: boolean;
  readonly error: unknown;
  readonly onDismiss: () => void;
  readonly onCreate: (tunnel: NewTunnel) => void;
  readonly onCancel: () => void;
}

function PanelContent(props: PanelContentProps) {
  const regions = useFetched('regions', listRegions);
  if (regions.error) {
    return (
      <PanelBody>
        <ErrorPanel message={messageOf(regions.error)} onRetry={regions.reload} busy={regions.busy} />
      </PanelBody>
    );
  }
  if (!regions.data) return <LoadingArea label="Loading regions" />;
  const initial = initialForm(regions.data);
  if (!initial) {
    return (
      <PanelBody>
        <Banner tone="warn" title="No region is available.">
          Tunnels can be created as soon as a region is available again.
        </Banner>
      </PanelBody>
    );
  }
  return <NewTunnelFormView {...props} regions={regions.data} initial={initial} />;
}

function NewTunnelFormView({
  regions,
  initial,
  busy,
  error,
  onDismiss,
  onCreate,
  onCancel,
}: PanelContentProps & { readonly regions: readonly Region[]; readonly initial: NewTunnelForm }) {
  const ref = useRef<HTMLFormElement>(null);
  const [form, setForm] = useState(initial);
  const [tries, setTries] = useState(0);
  const parsed = parseNewTunnel(form, regions);
  useEffect(() => {
    if (tries > 0) ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [tries]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTries(tries + 1);
    if (parsed.ok) onCreate(parsed.value);
  };
  return (
    <form ref={ref} noValidate onSubmit={submit} className="flex min-h-0 flex-1 flex-col">
      <PanelBody>
        {error !== undefined && (
          <Banner tone="danger" title="The tunnel was not created." onDismiss={onDismiss}>
            {capitaliseFirst(messageOf(error) ?? text.error.fallback)}
          </Banner>
        )}
        <NewTunnelFields form={form} onChange={setForm} regions={regions} errors={tries > 0 && !parsed.ok ? parsed.errors : {}} />
      </PanelBody>
      <PanelActions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={busy}>
          Create
        </Button>
      </PanelActions>
    </form>
  );
}
