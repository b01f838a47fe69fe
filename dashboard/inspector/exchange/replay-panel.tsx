// Changes a request and sends it again, to its upstream or to another address.
import { CSPProvider } from '@base-ui/react/csp-provider';
import type { Exchange } from '@underpass/rules/inspect/exchange.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { Plus, X } from 'lucide-react';
import { type FormEvent, useId, useState } from 'react';
import { useTask } from '../../api/use-task.ts';
import { hasChanged } from '../../form/has-changed.ts';
import { Cancel } from '../../form/overlay-form.tsx';
import { Banner } from '../../ui/banner.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Field } from '../../ui/input/field.tsx';
import { Input, Textarea } from '../../ui/input/input.tsx';
import { PanelActions, PanelBody, ProgressBar, SidePanel } from '../../ui/overlay/side-panel.tsx';
import { Unsaved, useAskBeforeUnload } from '../../unsaved/use-unsaved.ts';
import { replay } from '../api/calls.ts';
import { type DraftHeader, draftOf, type ReplayDraft, requestOf } from '../core/replay-draft.ts';
import { goTo } from '../state/route.ts';

interface ReplayPanelProps {
  readonly exchange: Exchange;
  readonly onClose: () => void;
}

export function ReplayPanel({ exchange: given, onClose }: ReplayPanelProps) {
  // The panel edits the request as it was when it opened, although the row may change behind it.
  const [exchange] = useState(given);
  const [draft, setDraft] = useState(() => draftOf(exchange));
  useAskBeforeUnload();
  const change = (part: Partial<ReplayDraft>) => setDraft({ ...draft, ...part });
  const task = useTask(async () => {
    const { id } = await replay(exchange.id, requestOf(draft, exchange));
    onClose();
    goTo({ id });
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void task.run();
  };
  return (
    <CSPProvider disableStyleElements>
      <SidePanel
        open
        onOpenChange={(open) => open || onClose()}
        title="Edit and replay"
        description={`Sends a new request. Parts that you do not change stay as in #${exchange.id}.`}
      >
        <Unsaved loss={task.busy ? 'sending' : hasChanged(draft, draftOf(exchange)) ? 'typed' : undefined} />
        <form onSubmit={submit} className="relative flex min-h-0 flex-1 flex-col">
          {task.busy && <ProgressBar />}
          <PanelBody>
            {task.error !== undefined && (
              <Banner tone="danger" onDismiss={task.dismiss}>
                {(task.error as Error).message}
              </Banner>
            )}
            <div className="grid gap-x-3 gap-y-6 sm:grid-cols-[8rem_minmax(0,1fr)]">
              <Field label="Method">
                {(control) => (
                  <Input
                    {...control}
                    mono
                    required
                    value={draft.method}
                    onChange={(event) => change({ method: event.target.value })}
                  />
                )}
              </Field>
              <Field label="Path">
                {(control) => (
                  <Input
                    {...control}
                    mono
                    required
                    value={draft.target}
                    onChange={(event) => change({ target: event.target.value })}
                  />
                )}
              </Field>
            </div>
            <Field label="Send to" optional hint="Another address, for example a second version of the service.">
              {(control) => (
                <Input
                  {...control}
                  mono
                  placeholder={exchange.upstream}
                  value={draft.to}
                  onChange={(event) => change({ to: event.target.value })}
                />
              )}
            </Field>
            <HeaderFields headers={draft.headers} onChange={(headers) => change({ headers })} />
            <BodyField exchange={exchange} body={draft.body} onChange={(body) => change({ body })} />
          </PanelBody>
          <PanelActions>
            <Cancel onCancel={onClose} />
            <Button variant="primary" type="submit" busy={task.busy}>
              Replay
            </Button>
          </PanelActions>
        </form>
      </SidePanel>
    </CSPProvider>
  );
}

interface HeaderFieldsProps {
  readonly headers: readonly DraftHeader[];
  readonly onChange: (headers: readonly DraftHeader[]) => void;
}

function HeaderFields({ headers, onChange }: HeaderFieldsProps) {
  const edit = (key: number, part: Partial<DraftHeader>) =>
    onChange(headers.map((header) => (header.key === key ? { ...header, ...part } : header)));
  const add = () =>
    onChange([...headers, { key: Math.max(0, ...headers.map(({ key }) => key)) + 1, name: '', value: '', isHidden: false }]);
  return (
    <fieldset className="grid grid-cols-1 gap-2">
      <legend className="mb-1.5 text-sm font-semibold">Headers</legend>
      {headers.map(({ key, name, value, isHidden }, at) => (
        <div key={key} className="flex items-start gap-1.5">
          <div className="grid min-w-0 flex-1 gap-1.5 sm:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
            <Input
              mono
              aria-label={`Name of header ${at + 1}`}
              value={name}
              onChange={(event) => edit(key, { name: event.target.value })}
              className="h-8!"
            />
            <Input
              mono
              aria-label={`Value of ${name || `header ${at + 1}`}`}
              placeholder={isHidden ? 'Hidden, sent as it was' : undefined}
              value={value}
              onChange={(event) => edit(key, { value: event.target.value })}
              className="h-8!"
            />
          </div>
          <IconButton
            label={`Remove ${name || `header ${at + 1}`}`}
            icon={<X aria-hidden="true" />}
            onClick={() => onChange(headers.filter((header) => header.key !== key))}
          />
        </div>
      ))}
      <Button size="sm" icon={<Plus aria-hidden="true" />} className="justify-self-start" onClick={add}>
        Add header
      </Button>
    </fieldset>
  );
}

interface BodyFieldProps {
  readonly exchange: Exchange;
  readonly body: string | null;
  readonly onChange: (body: string) => void;
}

function BodyField({ exchange, body, onChange }: BodyFieldProps) {
  const id = useId();
  const { request, signatureCheck } = exchange;
  if (body === null) {
    return (
      <div className="grid gap-2">
        <p id={id} className="text-sm font-semibold">
          Body
        </p>
        {request.body.isCut ? (
          <Banner
            tone="warn"
            action={
              <Button size="sm" onClick={() => onChange('')}>
                Write a new body
              </Button>
            }
          >
            The inspector no longer has the whole body, so it cannot send it again.
          </Banner>
        ) : (
          <p className="text-base text-ink-soft">
            {formatSize(request.body.bytes)} that are no text. They are sent as they came.
          </p>
        )}
      </div>
    );
  }
  return (
    <Field label="Body" hint={signatureCheck ? 'A changed body no longer matches the signature of the sender.' : undefined}>
      {(control) => (
        <Textarea
          {...control}
          spellCheck={false}
          value={body}
          onChange={(event) => onChange(event.target.value)}
          className="min-h-48 font-mono text-sm!"
        />
      )}
    </Field>
  );
}
