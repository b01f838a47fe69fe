// Edits the source addresses of a security group; the rule for one is rules/source-address.ts.
import { addSourceAddress } from '@underpass/rules/source-address.ts';
import { ListEditor, type ListEditorProps } from '../../ui/list-editor.tsx';

type AllowListEditorProps = Omit<ListEditorProps, 'add' | 'placeholder' | 'emptyText' | 'hint'>;

export function AllowListEditor(props: AllowListEditorProps) {
  return (
    <ListEditor
      {...props}
      add={addSourceAddress}
      hint="IPv4 or IPv6 addresses and CIDR ranges."
      placeholder="203.0.113.0/24"
      emptyText="No rules yet. Without a rule nobody gets in."
    />
  );
}
