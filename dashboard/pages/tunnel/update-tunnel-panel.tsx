// Changes a tunnel (spec 2, Update tunnel panel).
import type { ProxyProtocol, SecurityGroup, Tunnel } from '@underpass/rules/entity.ts';
import { addIngressDomain, parseIngressDomains } from '@underpass/rules/ingress-domain.ts';
import { proxyProtocolWarning } from '@underpass/rules/proxy-protocol.ts';
import { defaultSecurityGroupName, securityGroupChoices } from '@underpass/rules/security-group-name.ts';
import { text } from '@underpass/rules/text.ts';
import { type FormEvent, useState } from 'react';
import { useRevalidator } from 'react-router';
import { isApiError, isStale, messageOf } from '../../api/error.ts';
import { listSecurityGroups } from '../../api/security-groups.ts';
import { type TunnelChange, updateTunnel } from '../../api/tunnels.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { type Task, usePanelTask } from '../../api/use-task.ts';
import { LoadNewest } from '../../form/load-newest.tsx';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { ListEditor } from '../../ui/list-editor.tsx';
import { Select } from '../../ui/select.tsx';
import { PanelActions, PanelBody, SidePanel } from '../../ui/side-panel.tsx';
import { toast } from '../../ui/toast.tsx';
import { ProxyProtocolField } from '../tunnels/proxy-protocol-field.tsx';
import type { TunnelDialogProps } from './delete-tunnel-dialog.tsx';

export function UpdateTunnelPanel({ tunnel, open, onOpenChange }: TunnelDialogProps) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const [round, setRound] = useState(0);
  const task = usePanelTask(open, async (base: Tunnel, change: TunnelChange) => {
    try {
      await updateTunnel(project.id, base, change);
    } catch (error) {
      console.error('Tunnel update failed', error);
      if (isStale(error)) revalidate();
      throw error;
    }
    await revalidate();
    toast.done(`Tunnel ${tunnel.name} saved.`);
    onOpenChange(false);
  });
  const startOver = () => {
    task.dismiss();
    setRound(round + 1);
  };
  return (
    <SidePanel open={open} onOpenChange={onOpenChange} title="Update Tunnel" description={tunnel.name} busy={task.busy}>
      <UpdateForm
        key={round}
        tunnel={tunnel}
        project={project.id}
        save={task}
        onCancel={() => onOpenChange(false)}
        onStartOver={startOver}
      />
    </SidePanel>
  );
}

interface UpdateFormProps {
  readonly tunnel: Tunnel;
  readonly project: string;
  readonly save: Task<[base: Tunnel, change: TunnelChange]>;
  readonly onCancel: () => void;
  readonly onStartOver: () => void;
}

function UpdateForm({ tunnel, project, save, onCancel, onStartOver }: UpdateFormProps) {
  /** What is saved is a change of this, whatever becomes of the tunnel meanwhile. */
  const [base] = useState(tunnel);
  const [domains, setDomains] = useState<readonly string[]>(tunnel.ingressDomains.map(({ name }) => name));
  const [pending, setPending] = useState('');
  const [proxyProtocol, setProxyProtocol] = useState<ProxyProtocol>(tunnel.proxyProtocol);
  const [securityGroup, setSecurityGroup] = useState(tunnel.securityGroup || defaultSecurityGroupName);
  const [error, setError] = useState<string>();
  const groups = useFetched(`groups ${project}`, (signal) => listSecurityGroups(project, signal));
  const editsDomains = tunnel.ingressDomains.every(({ apexName }) => apexName !== '');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = parseIngressDomains(domains, { pending });
    if (editsDomains && !parsed.ok) return setError(parsed.message);
    setError(undefined);
    save.run(base, { ingressDomains: editsDomains && parsed.ok ? parsed.value : domains, proxyProtocol, securityGroup });
  };
  return (
    <form noValidate onSubmit={submit} className="flex min-h-0 flex-1 flex-col">
      <PanelBody>
        {save.error !== undefined && (
          <Banner
            tone="danger"
            title="The tunnel was not saved."
            action={tunnel.updatedAt > base.updatedAt && <LoadNewest onClick={onStartOver} />}
            onDismiss={save.dismiss}
          >
            {(isApiError(save.error) && messageOf(save.error)) || text.error.fallback}
          </Banner>
        )}
        {editsDomains && (
          <ListEditor
            label="Ingress domains"
            items={domains}
            onChange={setDomains}
            pending={pending}
            onPendingChange={setPending}
            add={addIngressDomain}
            error={error}
            placeholder="app.example.com"
            emptyText={text.tunnels.noIngressDomains}
          />
        )}
        <ProxyProtocolField value={proxyProtocol} onChange={setProxyProtocol} />
        <ProxyWarning saved={tunnel.proxyProtocol} chosen={proxyProtocol} />
        <Field label="Security group" hint="Who may reach this tunnel.">
          {(control) => (
            <Select
              {...control}
              value={securityGroup}
              options={groupOptions(groups.data, securityGroup)}
              onChange={setSecurityGroup}
            />
          )}
        </Field>
      </PanelBody>
      <PanelActions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" variant="primary" busy={save.busy}>
          Save
        </Button>
      </PanelActions>
    </form>
  );
}

function ProxyWarning({ saved, chosen }: { readonly saved: ProxyProtocol; readonly chosen: ProxyProtocol }) {
  const warning = proxyProtocolWarning(saved, chosen);
  return warning && <Banner tone="warn">{warning}</Banner>;
}

/** The tunnel's own group is offered also while the list is on its way. */
function groupOptions(groups: readonly SecurityGroup[] | undefined, current: string) {
  const names = groups ? securityGroupChoices(groups.map(({ name }) => name)) : [current];
  return names.map((name) => ({ value: name, label: name }));
}
