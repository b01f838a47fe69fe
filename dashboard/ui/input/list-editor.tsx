// Edits a list of short texts; Enter adds one, a pasted list all of its entries. A submit includes the text that is typed and not added yet (spec 5).
import type { Parsed } from '@underpass/rules/parsed.ts';
import { splitEntries } from '@underpass/rules/text/typed-list.ts';
import { Plus, X } from 'lucide-react';
import { type ClipboardEvent, type KeyboardEvent, useRef, useState } from 'react';
import { Button, IconButton } from '../button.tsx';
import { Field } from './field.tsx';
import { Input } from './input.tsx';

export interface ListEditorProps {
  readonly label: string;
  readonly items: readonly string[];
  readonly onChange: (items: readonly string[]) => void;
  /** Typed and not added yet. */
  readonly pending: string;
  readonly onPendingChange: (pending: string) => void;
  /** Returns the list with the text added, or the error. */
  readonly add: (items: readonly string[], text: string) => Parsed<readonly string[]>;
  readonly error?: string | undefined;
  readonly hint?: string | undefined;
  readonly placeholder?: string;
  readonly emptyText: string;
  readonly disabled?: boolean;
}

export function ListEditor(props: ListEditorProps) {
  const { label, items, onChange, emptyText, disabled = false } = props;
  const place = useRef<HTMLDivElement>(null);
  const remove = (item: string) => {
    if (place.current) focusBeside(place.current, items.indexOf(item));
    onChange(items.filter((other) => other !== item));
  };
  return (
    <div ref={place} className="grid gap-2">
      <PendingField {...props} />
      <Items label={label} items={items} emptyText={emptyText} disabled={disabled} onRemove={remove} />
      <p role="status" className="sr-only">
        {items.length === 1 ? '1 entry' : `${items.length} entries`}
      </p>
    </div>
  );
}

function PendingField(props: ListEditorProps) {
  const { label, items, onChange, pending, onPendingChange, add, disabled = false } = props;
  const [last, setLast] = useState<ReturnType<typeof addEntries>>();
  // The message is about this list and this text: it goes when somebody types, and when the form starts over.
  const isCurrent = last?.items === items && last.refused === pending;
  const error = (isCurrent ? last.refusal : undefined) ?? props.error;
  const addAll = (text: string) => {
    const result = addEntries(items, text, add);
    setLast(result);
    if (result.items !== items) onChange(result.items);
    onPendingChange(result.refused);
  };
  const onPaste = (event: ClipboardEvent<HTMLInputElement>) => {
    const pasted = event.clipboardData.getData('text');
    if (splitEntries(pasted).length < 2) return;
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.currentTarget;
    addAll(`${pending.slice(0, selectionStart ?? 0)} ${pasted} ${pending.slice(selectionEnd ?? 0)}`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    addAll(pending);
  };
  return (
    <Field label={label} hint={props.hint} error={error}>
      {(control) => (
        <span className="flex flex-wrap gap-2">
          <span className="flex-[1_1_8rem]">
            <Input
              {...control}
              mono
              value={pending}
              disabled={disabled}
              placeholder={props.placeholder}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              onChange={(event) => onPendingChange(event.target.value)}
              onKeyDown={onKeyDown}
              onPaste={onPaste}
            />
          </span>
          <Button icon={<Plus aria-hidden="true" />} onClick={() => addAll(pending)} disabled={disabled}>
            Add
          </Button>
        </span>
      )}
    </Field>
  );
}

/** Adds every entry of the text that is allowed. The others are `refused`: they stay in the field, with the reason. */
function addEntries(items: readonly string[], text: string, add: ListEditorProps['add']) {
  const refused: string[] = [];
  let next = items;
  let refusal: string | undefined;
  for (const entry of splitEntries(text).length === 0 ? [''] : splitEntries(text)) {
    const parsed = add(next, entry);
    if (parsed.ok) next = parsed.value;
    else {
      refused.push(entry);
      refusal ??= parsed.message;
    }
  }
  return { items: next, refused: refused.join(' '), refusal };
}

/** Moves the focus, before an entry's button disappears, to the next entry's button, the previous one's, or Add. */
function focusBeside(place: HTMLElement, index: number): void {
  const [add, ...removals] = place.querySelectorAll('button');
  (removals[index + 1] ?? removals[index - 1] ?? add)?.focus();
}

interface ItemsProps {
  readonly label: string;
  readonly items: readonly string[];
  readonly emptyText: string;
  readonly disabled: boolean;
  readonly onRemove: (item: string) => void;
}

function Items({ label, items, emptyText, disabled, onRemove }: ItemsProps) {
  if (items.length === 0) return <p className="rounded-md border border-dashed px-3 py-2.5 text-sm text-ink-soft">{emptyText}</p>;
  return (
    <ul aria-label={label} className="max-h-96 divide-y overflow-y-auto rounded-md border">
      {items.map((item) => (
        <li
          key={item}
          className="flex min-h-10 items-center gap-2 py-1 pr-1 pl-3 [contain-intrinsic-size:auto_2rem] [content-visibility:auto]"
        >
          <span className="min-w-0 flex-1 font-mono text-sm wrap-anywhere">{item}</span>
          {!disabled && <IconButton label={`Remove ${item}`} icon={<X aria-hidden="true" />} onClick={() => onRemove(item)} />}
        </li>
      ))}
    </ul>
  );
}
