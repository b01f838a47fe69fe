// Switches the visitor log of a tunnel on or off, and chooses what it keeps.
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { accept } from '@underpass/rules/parsed.ts';
import { type VisitorLogMode, visitorLogLabels } from '@underpass/rules/tunnel/visitor-log.ts';
import { useRevalidator } from 'react-router';
import { callApi } from '../../api/request.ts';
import { DialogForm, formDialog, type InOverlay } from '../../form/overlay-form.tsx';
import { useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { RadioCards } from '../../ui/input/radio-cards.tsx';
import { Switch } from '../../ui/input/switch.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

interface LogFormProps extends InOverlay {
  readonly tunnel: Tunnel;
}

export const VisitorLogDialog = formDialog(
  { title: 'Visitor log', description: 'Visits are kept for 24 hours. Any change here deletes those that are kept.' },
  LogForm,
);

const modes = [
  { value: 'off', label: visitorLogLabels.off, description: 'Nothing about visits is kept.' },
  { value: 'truncated', label: visitorLogLabels.truncated, description: '203.0.113.0/24 in place of 203.0.113.9.' },
  { value: 'full', label: visitorLogLabels.full, description: 'To tell visitors apart, or to block one.' },
] as const;

interface LogValues {
  readonly mode: VisitorLogMode;
  readonly query: boolean;
}

function LogForm({ tunnel, onDone }: LogFormProps) {
  const project = useProject();
  const { revalidate } = useRevalidator();
  const form = useForm({
    initial: { mode: tunnel.visitorLog ?? ('truncated' as VisitorLogMode), query: tunnel.visitorLogQuery === true },
    parse: (values: LogValues) => accept(values),
    send: async ({ mode, query }: LogValues) => {
      const payload = { visitorLog: mode, visitorLogQuery: mode !== 'off' && query };
      await callApi(tunnelCalls.updateTunnel, { project: project.id, name: tunnel.name, payload });
      await revalidate();
      toast.done(mode === 'off' ? 'The visitor log is off, and empty.' : 'The visitor log is on.');
      onDone();
    },
  });
  const { values, set } = form;
  return (
    <DialogForm form={form} submitLabel="Save" onCancel={onDone} failureTitle="The visitor log was not changed.">
      <RadioCards label="Addresses of visitors" value={values.mode} options={modes} onChange={(mode) => set('mode', mode)} />
      <Switch
        label="Keep queries"
        hint="What follows ? in a path may hold secrets or personal data."
        checked={values.mode !== 'off' && values.query}
        disabled={values.mode === 'off'}
        onChange={(query) => set('query', query)}
      />
    </DialogForm>
  );
}
