// Changes a request and sends it again, to its upstream or to another address.
import { CSPProvider } from '@base-ui/react/csp-provider';
import type { Exchange } from '@underpass/rules/inspect/exchange.ts';
import { accept, acceptFields, type Parsed, type ParsedForm, refuse } from '@underpass/rules/parsed.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { Banner } from '../../ui/banner.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { Field } from '../../ui/input/field.tsx';
import { Input, Textarea } from '../../ui/input/input.tsx';
import { useAskBeforeUnload } from '../../unsaved/use-unsaved.ts';
import { replay } from '../api/calls.ts';
import { type DraftHeader, draftOf, type ReplayDraft, requestOf } from '../core/replay-draft.ts';
import { goTo } from '../state/route.ts';

interface ReplayFormProps {
  readonly exchange: Exchange;
}

export function ReplayPanel({ exchange, onClose }: ReplayFormProps & { readonly onClose: () => void }) {
  return (
    <CSPProvider disableStyleElements>
      <ReplayFormPanel exchange={exchange} open onOpenChange={(open) => open || onClose()} />
    </CSPProvider>
  );
}

const ReplayFormPanel = formPanel(
  ({ exchange }: ReplayFormProps & InOverlay) => ({
    title: 'Edit and replay',
    description: `Sends a new request. Parts that you do not change stay as in #${exchange.id}.`,
  }),
  ReplayForm,
);

const parseFilled = (text: string): Parsed<string> => (text.trim() === '' ? refuse('Required.') : accept(text));

function parseDraft(draft: ReplayDraft): ParsedForm<ReplayDraft, 'method' | 'target'> {
  const parsed = acceptFields({ method: parseFilled(draft.method), target: parseFilled(draft.target) });
  return parsed.ok ? accept(draft) : parsed;
}

function ReplayForm({ exchange: given, onDone }: ReplayFormProps & InOverlay) {
  // The panel edits the request as it was when it opened, although the row may change behind it.
  const [exchange] = useState(given);
  useAskBeforeUnload();
  const form = useForm<ReplayDraft, ReplayDraft>({
    initial: draftOf(exchange),
    parse: parseDraft,
    send: async (draft) => {
      const { id } = await replay(exchange.id, requestOf(draft, exchange));
      onDone();
      goTo({ id });
    },
  });
  const { values, set } = form;
  return (
    <PanelForm form={form} submitLabel="Replay" onCancel={onDone}>
      <div className="grid gap-x-3 gap-y-6 sm:grid-cols-[8rem_minmax(0,1fr)]">
        <TextField form={form} name="method" label="Method" mono />
        <TextField form={form} name="target" label="Path" mono />
      </div>
      <TextField
        form={form}
        name="to"
        label="Send to"
        optional
        hint="Another address, for example a second version of the service."
        mono
        placeholder={exchange.upstream}
      />
      <HeaderFields headers={values.headers} onChange={(headers) => set('headers', headers)} />
      <BodyField exchange={exchange} body={values.body} onChange={(body) => set('body', body)} />
    </PanelForm>
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
