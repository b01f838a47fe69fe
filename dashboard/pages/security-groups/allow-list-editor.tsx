// Edits the source addresses of a security group, as fields of the form around it.
import { addSourceAddress } from '@underpass/rules/source-address.ts';
import type { Form } from '../../form/use-form.ts';
import { ListEditor } from '../../ui/list-editor.tsx';

interface AllowListValues {
  readonly allow: readonly string[];
  /** Typed and not added yet. */
  readonly pending: string;
}

export interface AllowListEditorProps {
  readonly form: Pick<Form<AllowListValues>, 'values' | 'errors' | 'set'>;
  readonly label: string;
  readonly disabled?: boolean;
}

export function AllowListEditor({ form, ...rest }: AllowListEditorProps) {
  return (
    <ListEditor
      {...rest}
      items={form.values.allow}
      onChange={(allow) => form.set('allow', allow)}
      pending={form.values.pending}
      onPendingChange={(pending) => form.set('pending', pending)}
      error={form.errors.allow}
      add={addSourceAddress}
      hint="IPv4 or IPv6 addresses and CIDR ranges."
      placeholder="203.0.113.0/24"
      emptyText="No rules yet. Nobody can connect until you add one."
    />
  );
}
