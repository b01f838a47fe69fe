// Adds or changes the webhook.
import { alertCalls } from '@underpass/rules/api/alert-calls.ts';
import type { PayloadOf } from '@underpass/rules/api/call.ts';
import type { AlertWebhook, NewAlertWebhook } from '@underpass/rules/entity/resource.ts';
import { accept, acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseWebhookUrl, type WebhookFormat, webhookFormats } from '@underpass/rules/tunnel/webhook.ts';
import { callApi } from '../../api/request.ts';
import { PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { RadioCards } from '../../ui/input/radio-cards.tsx';
import { SidePanel } from '../../ui/overlay/side-panel.tsx';

export interface WebhookPanelProps {
  /** Undefined adds one. */
  readonly webhook: AlertWebhook | undefined;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly onSaved: (saved: NewAlertWebhook) => void;
}

export function WebhookPanel({ open, onOpenChange, ...form }: WebhookPanelProps) {
  return (
    <SidePanel
      open={open}
      onOpenChange={onOpenChange}
      title={form.webhook ? 'Change webhook' : 'Add webhook'}
      description="Underpass sends each alert of this project to one public address."
    >
      <WebhookForm {...form} onCancel={() => onOpenChange(false)} />
    </SidePanel>
  );
}

interface WebhookValues {
  readonly url: string;
  readonly format: WebhookFormat;
}

type Change = PayloadOf<typeof alertCalls.saveAlertWebhook>;

const formats = (Object.keys(webhookFormats) as WebhookFormat[]).map((value) => ({
  value,
  label: webhookFormats[value].label,
  description: webhookFormats[value].hint,
}));

/** An empty address keeps the present one, which the page does not know. */
const parseWith =
  (webhook: AlertWebhook | undefined) =>
  ({ url, format }: WebhookValues): ParsedForm<Change, 'url'> => {
    if (webhook !== undefined && url.trim() === '') return accept({ format });
    return acceptFields({ url: parseWebhookUrl(url), format: accept(format) });
  };

type FormProps = Pick<WebhookPanelProps, 'webhook' | 'onSaved'> & { readonly onCancel: () => void };

function WebhookForm({ webhook, onSaved, onCancel }: FormProps) {
  const project = useProject();
  const form = useForm<WebhookValues, Change>({
    initial: { url: '', format: webhook?.format ?? 'standard' },
    parse: parseWith(webhook),
    send: async (payload) => onSaved(await callApi(alertCalls.saveAlertWebhook, { project: project.id, payload })),
  });
  const hint = webhook ? `Leave it empty to keep the address at ${webhook.site}.` : 'Such as https://example.com/alerts.';
  return (
    <PanelForm form={form} submitLabel={webhook ? 'Save' : 'Add'} onCancel={onCancel}>
      <TextField form={form} name="url" label="Address" hint={hint} autoComplete="off" inputMode="url" />
      <RadioCards label="Format" value={form.values.format} options={formats} onChange={(format) => form.set('format', format)} />
    </PanelForm>
  );
}
