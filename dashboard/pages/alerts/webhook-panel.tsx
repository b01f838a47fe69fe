// Adds or changes the webhook.
import { alertCalls } from '@underpass/rules/api/alert-calls.ts';
import type { PayloadOf } from '@underpass/rules/api/call.ts';
import type { AlertWebhook, NewAlertWebhook } from '@underpass/rules/entity/resource.ts';
import { accept, acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { parseWebhookUrl, type WebhookFormat, webhookFormats } from '@underpass/rules/tunnel/webhook.ts';
import { callApi } from '../../api/request.ts';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { RadioCards } from '../../ui/input/radio-cards.tsx';

interface WebhookFormProps extends InOverlay {
  /** Undefined adds one. */
  readonly webhook: AlertWebhook | undefined;
  readonly onSaved: (saved: NewAlertWebhook) => void;
}

export const WebhookPanel = formPanel(
  ({ webhook }: WebhookFormProps) => ({
    title: webhook ? 'Change webhook' : 'Add webhook',
    description: 'Underpass sends each alert of this project to one public address.',
  }),
  WebhookForm,
);

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

function WebhookForm({ webhook, onSaved, onDone }: WebhookFormProps) {
  const project = useProject();
  const form = useForm<WebhookValues, Change>({
    initial: { url: '', format: webhook?.format ?? 'standard' },
    parse: parseWith(webhook),
    send: async (payload) => onSaved(await callApi(alertCalls.saveAlertWebhook, { project: project.id, payload })),
  });
  const hint = webhook ? `Leave it empty to keep the address at ${webhook.site}.` : 'Such as https://example.com/alerts.';
  return (
    <PanelForm form={form} submitLabel={webhook ? 'Save' : 'Add'} onCancel={onDone}>
      <TextField form={form} name="url" label="Address" hint={hint} autoComplete="off" inputMode="url" />
      <RadioCards label="Format" value={form.values.format} options={formats} onChange={(format) => form.set('format', format)} />
    </PanelForm>
  );
}
