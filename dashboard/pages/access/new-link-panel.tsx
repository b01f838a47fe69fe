// Creates a share link.
import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf, PayloadOf } from '@underpass/rules/api/call.ts';
import { accept, acceptFields, type Parsed, type ParsedForm, refuse } from '@underpass/rules/parsed.ts';
import { parseApiTokenName } from '@underpass/rules/text/project-name.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { callApi } from '../../api/request.ts';
import { formPanel, type InOverlay, PanelForm } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { useProject } from '../../session/session.ts';
import { SelectField } from '../../ui/input/select-field.tsx';
import { linkHours, numberOf } from './expiry-choice.ts';

export const NewLinkPanel = formPanel({ title: 'Create share link', description: 'It is shown only once.' }, LinkForm);

interface LinkValues {
  readonly name: string;
  readonly hours: string;
  readonly mostUses: string;
}

type LinkRequest = PayloadOf<typeof accessCalls.createAccessLink>;

function parseLink(values: LinkValues): ParsedForm<LinkRequest, 'name' | 'mostUses'> {
  const parsed = acceptFields({ name: parseApiTokenName(values.name), mostUses: parseUses(values.mostUses) });
  return parsed.ok ? accept({ ...parsed.value, expiresInHours: numberOf(values.hours) }) : parsed;
}

const usesMost = policyLimits.linkUses;

function parseUses(text: string): Parsed<number | undefined> {
  const typed = text.trim();
  if (typed === '') return accept(undefined);
  const fits = /^\d{1,5}$/.test(typed) && Number(typed) >= 1 && Number(typed) <= usesMost;
  return fits ? accept(Number(typed)) : refuse(`Type a number from 1 to ${usesMost.toLocaleString('en-US')}.`);
}

interface LinkFormProps extends InOverlay {
  readonly policy: string;
  readonly onCreated: (link: AnswerOf<typeof accessCalls.createAccessLink>) => void;
}

function LinkForm({ policy, onCreated, onDone }: LinkFormProps) {
  const project = useProject();
  const form = useForm<LinkValues, LinkRequest>({
    initial: { name: '', hours: '168', mostUses: '' },
    parse: parseLink,
    send: async (payload) =>
      onCreated(await callApi(accessCalls.createAccessLink, { project: project.id, name: policy, payload })),
  });
  return (
    <PanelForm form={form} submitLabel="Create" onCancel={onDone} failureTitle="The link was not created.">
      <TextField form={form} name="name" label="Name" hint="Who it is for, such as ‘design review’." autoComplete="off" />
      <SelectField
        label="Expires after"
        value={form.values.hours}
        options={linkHours}
        onChange={(hours) => form.set('hours', hours)}
      />
      <TextField
        form={form}
        name="mostUses"
        label="Number of uses"
        optional
        hint="Each sign-in counts. Leave empty for no limit."
        inputMode="numeric"
        autoComplete="off"
      />
    </PanelForm>
  );
}
