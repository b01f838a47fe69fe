// The webhook of the project, for owners and admins: its address, its secret, a test, and the log of deliveries.
import { alertCalls } from '@underpass/rules/api/alert-calls.ts';
import type { AlertWebhook, NewAlertWebhook } from '@underpass/rules/entity/resource.ts';
import { webhookFormats, webhookLimits } from '@underpass/rules/tunnel/webhook.ts';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { askFor } from '../../api/answers.ts';
import { Failure } from '../../api/failure.tsx';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import { useTask } from '../../api/use-task.ts';
import { type Confirm, useConfirm } from '../../form/use-confirm.tsx';
import { useProject } from '../../session/session.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { DateTime } from '../../ui/date/date-time.tsx';
import { SecretDialog } from '../../ui/overlay/secret-dialog.tsx';
import { toast } from '../../ui/overlay/toast.tsx';
import { Deliveries } from './deliveries.tsx';
import { WebhookPanel } from './webhook-panel.tsx';

export function WebhookCard() {
  const project = useProject();
  const [isOpen, setOpen] = useState(false);
  const [secret, setSecret] = useState<string>();
  const fetched = useFetched(askFor(alertCalls.getAlertWebhook, { project: project.id }));
  const confirm = useConfirm();
  const webhook = fetched.data?.webhook ?? undefined;
  const show = (saved: NewAlertWebhook) => {
    setOpen(false);
    setSecret(saved.secret);
    fetched.reload();
  };
  const edit = (
    <Button size="sm" icon={webhook ? undefined : <Plus aria-hidden="true" />} onClick={() => setOpen(true)}>
      {webhook ? 'Change' : 'Add webhook'}
    </Button>
  );
  return (
    <Card
      title="Webhook"
      description="Sends each alert to a program, or to Slack or Discord."
      actions={fetched.data && edit}
      flush
    >
      {webhook && (
        <div className="grid gap-4 px-4 pb-4 sm:px-5">
          <Health webhook={webhook} />
          <Facts webhook={webhook} />
          <Actions ask={confirm.ask} onChange={fetched.reload} onRotated={show} />
        </div>
      )}
      {(webhook || !fetched.data) && (
        <div className="border-t">
          <Deliveries fetched={fetched} isOff={webhook?.disabledAt !== null} />
        </div>
      )}
      <WebhookPanel webhook={webhook} open={isOpen} onOpenChange={setOpen} onSaved={show} />
      <SecretDialog
        title="The secret of your webhook"
        label="Webhook secret"
        secret={secret}
        hint="Your receiver verifies the header webhook-signature with it. Libraries of Standard Webhooks take it as it is. Slack and Discord do not need it."
        onClose={() => setSecret(undefined)}
      />
      {confirm.dialog}
    </Card>
  );
}

function Health({ webhook: { disabledAt, failingSince } }: { readonly webhook: AlertWebhook }) {
  if (disabledAt !== null) {
    return (
      <Banner tone="danger" title="The webhook is switched off: its receiver failed for three days, or wants no more.">
        Nothing is sent since <DateTime at={disabledAt} style="short" />. Fix the receiver, then open Change and save: that
        switches it on again.
      </Banner>
    );
  }
  return failingSince === null ? null : (
    <Banner tone="warn" title="Deliveries fail.">
      Since <DateTime at={failingSince} style="short" />. They are tried again. After three days the webhook is switched off.
    </Banner>
  );
}

function Facts({ webhook: { site, format, oldSecretUntil } }: { readonly webhook: AlertWebhook }) {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
      <dt className="text-ink-soft">Address</dt>
      <dd className="font-mono text-sm wrap-anywhere">{site}/…</dd>
      <dt className="text-ink-soft">Format</dt>
      <dd>{webhookFormats[format].label}</dd>
      {oldSecretUntil !== null && (
        <>
          <dt className="text-ink-soft">Old secret</dt>
          <dd>
            works until <DateTime at={oldSecretUntil} style="short" />
          </dd>
        </>
      )}
    </dl>
  );
}

interface ActionsProps {
  readonly ask: Confirm['ask'];
  readonly onChange: () => void;
  readonly onRotated: (saved: NewAlertWebhook) => void;
}

function Actions({ ask, onChange, onRotated }: ActionsProps) {
  const project = useProject();
  const test = useTask(async () => {
    const { state, status, error } = await callApi(alertCalls.testAlertWebhook, { project: project.id });
    if (state === 'delivered') toast.done(`The receiver answered with status ${status}.`);
    else toast.failed(error ?? 'The test failed.');
    onChange();
  });
  const rotate = () =>
    ask({
      title: 'New Secret',
      warning: `Deliveries are signed with the old and the new secret for ${webhookLimits.oldSecretHours} hours. Give the new one to your receiver before that.`,
      confirmLabel: 'Make new secret',
      work: async () => onRotated(await callApi(alertCalls.rotateAlertWebhook, { project: project.id })),
      done: 'New secret made.',
    });
  const remove = () =>
    ask({
      title: 'Delete Webhook',
      warning: 'Nothing is sent to it any more, and its log is deleted. This operation is permanent.',
      confirmLabel: 'Delete',
      work: async () => {
        await callApi(alertCalls.deleteAlertWebhook, { project: project.id });
        onChange();
      },
      done: 'Webhook deleted.',
    });
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap gap-2">
        <Button size="sm" busy={test.busy} onClick={() => test.run()}>
          Test
        </Button>
        <Button size="sm" onClick={rotate}>
          New secret
        </Button>
        <Button size="sm" onClick={remove}>
          Delete
        </Button>
      </div>
      <Failure task={test} />
    </div>
  );
}
