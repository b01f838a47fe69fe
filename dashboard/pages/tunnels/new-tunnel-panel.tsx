// Creates a tunnel (spec 2, New Tunnel panel).
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Project, Region } from '@underpass/rules/entity/entity.ts';
import { capitaliseFirst, text } from '@underpass/rules/text/text.ts';
import { useSearchParams } from 'react-router';
import { askFor } from '../../api/answers.ts';
import { messageOf } from '../../api/error.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useNavigateOrReload } from '../../api/use-navigate-or-reload.ts';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { useForm } from '../../form/use-form.ts';
import { newTunnelParam, paths } from '../../routing/paths.ts';
import { Banner } from '../../ui/banner.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';
import { PanelBody } from '../../ui/overlay/side-panel.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { LoadingArea } from '../../ui/spinner.tsx';
import { NewTunnelFields } from './new-tunnel-fields.tsx';
import { initialForm, type NewTunnel, type NewTunnelForm, parseNewTunnel } from './new-tunnel-form.ts';

export const NewTunnelPanel = formPanel({ title: text.tunnels.newTitle, description: text.tunnels.newText }, PanelContent);

interface PanelContentProps extends InOverlay {
  readonly project: Project;
}

function PanelContent(props: PanelContentProps) {
  const regions = useFetched(askFor(tunnelCalls.listRegions, {}));
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
          Try again later, or ask the operator to open a region.
        </Banner>
      </PanelBody>
    );
  }
  return <NewTunnelFormView {...props} regions={regions.data} initial={initial} />;
}

interface FormViewProps extends PanelContentProps {
  readonly regions: readonly Region[];
  readonly initial: NewTunnelForm;
}

function NewTunnelFormView({ project, regions, initial, onDone }: FormViewProps) {
  const navigateOrReload = useNavigateOrReload();
  const [search] = useSearchParams();
  const form = useForm({
    initial,
    parse: (values) => parseNewTunnel(values, regions),
    send: async (tunnel: NewTunnel) => {
      await callApi(tunnelCalls.createTunnel, { project: project.id, payload: tunnel });
      toast.done(`Tunnel ${tunnel.name} created.`);
      // Back must not lead to the address that opens the panel.
      await navigateOrReload(paths.tunnel(project.id, tunnel.name), { replace: search.has(newTunnelParam) });
    },
  });
  const failure = form.failure && capitaliseFirst(form.failure);
  return (
    <PanelForm form={{ ...form, failure }} submitLabel="Create" onCancel={onDone} failureTitle="The tunnel was not created.">
      <NewTunnelFields form={form.values} onChange={form.change} regions={regions} errors={form.errors} />
    </PanelForm>
  );
}
