// A list of short texts in a form: its entries and the text that is typed are two values of the form.
import { ListEditor, type ListEditorProps } from '../ui/input/list-editor.tsx';

interface ListFieldProps<Name extends string, Pending extends string>
  extends Pick<ListEditorProps, 'label' | 'add' | 'hint' | 'placeholder' | 'emptyText' | 'disabled'> {
  readonly form: {
    readonly values: Readonly<Record<NoInfer<Name>, readonly string[]> & Record<NoInfer<Pending>, string>>;
    readonly errors: Readonly<Partial<Record<NoInfer<Name>, string>>>;
    readonly set: ((field: NoInfer<Name>, value: readonly string[]) => void) & ((field: NoInfer<Pending>, value: string) => void);
  };
  readonly name: Name;
  /** The name of the value that is typed and not added yet. */
  readonly pending: Pending;
}

export function ListField<Name extends string, Pending extends string>(props: ListFieldProps<Name, Pending>) {
  const { form, name, pending, ...editor } = props;
  return (
    <ListEditor
      {...editor}
      items={form.values[name]}
      onChange={(items) => form.set(name, items)}
      pending={form.values[pending]}
      onPendingChange={(text) => form.set(pending, text)}
      error={form.errors[name]}
    />
  );
}
