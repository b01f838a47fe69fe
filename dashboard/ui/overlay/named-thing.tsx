// Names the item that a destructive action deletes.

export function NamedThing({ name }: { readonly name: string }) {
  return <p className="rounded-md border bg-sunken px-3 py-2 font-mono text-sm wrap-anywhere">{name}</p>;
}
