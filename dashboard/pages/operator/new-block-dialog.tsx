// Blocks one address, network or name.
import { operatorCalls } from '@underpass/rules/api/operator-calls.ts';
import { parseBlock, parseBlockReason } from '@underpass/rules/names/block.ts';
import { accept, acceptFields, type ParsedForm } from '@underpass/rules/parsed.ts';
import { useRevalidator } from 'react-router';
import { callApi } from '../../api/request.ts';
import { DialogForm, formDialog, type InOverlay } from '../../form/overlay-form.tsx';
import { TextField } from '../../form/text-field.tsx';
import { useForm } from '../../form/use-form.ts';
import { toast } from '../../ui/overlay/toast.tsx';

interface BlockFormProps {
  readonly value: string;
}

export const NewBlockDialog = formDialog({ title: 'Add Block' }, BlockForm);

type Fields = Readonly<Record<'value' | 'reason', string>>;

function parseFields(typed: Fields): ParsedForm<Fields, 'value' | 'reason'> {
  const parsed = acceptFields({ value: parseBlock(typed.value), reason: parseBlockReason(typed.reason) });
  return parsed.ok ? accept({ ...parsed.value, value: parsed.value.value.value }) : parsed;
}

function BlockForm({ value, onDone }: BlockFormProps & InOverlay) {
  const { revalidate } = useRevalidator();
  const form = useForm({
    initial: { value, reason: '' },
    parse: parseFields,
    send: async (payload: Fields) => {
      await callApi(operatorCalls.createBlock, { payload });
      onDone();
      toast.done(`${payload.value} is blocked.`);
      await revalidate();
    },
  });
  return (
    <DialogForm form={form} submitLabel="Block" onCancel={onDone}>
      <TextField
        form={form}
        name="value"
        label="Address, network or name"
        hint="Such as 203.0.113.5, 203.0.113.0/24 or evil.example.com, which holds every name below it."
        autoComplete="off"
      />
      <TextField form={form} name="reason" label="Reason" hint="For other operators, and the audit log." autoComplete="off" />
    </DialogForm>
  );
}
