// The path rules of a policy, in order. Buttons move a rule, so the keyboard can too.
import { parsePathPattern } from '@underpass/rules/visit/parse-path-rules.ts';
import { type PathAction, pathActions } from '@underpass/rules/visit/path-rule.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { ArrowDown, ArrowUp, Plus, X } from 'lucide-react';
import { useLayoutEffect, useRef, useState } from 'react';
import { Button, IconButton } from '../../ui/button.tsx';
import { FieldError } from '../../ui/input/field.tsx';
import { Input } from '../../ui/input/input.tsx';
import { Select } from '../../ui/input/select.tsx';
import type { TypedRule } from './policy-form.ts';
import type { PolicyPartProps } from './use-policy-form.ts';
import { actionLabels } from './words.ts';

type Direction = 'up' | 'down';

export function PathRules({ form, readOnly }: PolicyPartProps) {
  const { rules } = form.values;
  const error = form.errors.rules;
  const setRules = (next: readonly TypedRule[]) => form.set('rules', next);
  const { place, focusNext } = useFocusAfterChange();
  const [moved, setMoved] = useState('');
  const add = () => {
    const id = 1 + Math.max(-1, ...rules.map((rule) => rule.id));
    setRules([...rules, { id, path: '', action: 'public' }]);
    focusNext(`[data-rule="${id}"] input`);
  };
  const remove = (index: number) => {
    const beside = rules[index + 1] ?? rules[index - 1];
    setRules(rules.filter((_, other) => other !== index));
    focusNext(beside ? `[data-rule="${beside.id}"] [data-act="remove"]` : '[data-act="add"]');
  };
  const move = (index: number, direction: Direction) => {
    const to = direction === 'up' ? index - 1 : index + 1;
    const rule = rules[index];
    if (!rule || !rules[to]) return;
    setRules(rules.with(index, rules[to]).with(to, rule));
    setMoved(`${rule.path || 'The rule'} is now rule ${to + 1} of ${rules.length}.`);
  };
  return (
    <div ref={place} className="grid gap-3">
      {rules.length === 0 ? (
        <p className="rounded-md border border-dashed px-3 py-2.5 text-sm text-ink-soft">No rules: every path needs a sign-in.</p>
      ) : (
        <ol aria-label="Path rules" className="divide-y rounded-md border">
          {rules.map((rule, index) => (
            <RuleRow
              key={rule.id}
              rule={rule}
              index={index}
              count={rules.length}
              isWrong={error !== undefined && !parsePathPattern(rule.path).ok}
              readOnly={readOnly}
              onChange={(next) => setRules(rules.with(index, next))}
              onRemove={() => remove(index)}
              onMove={(direction) => move(index, direction)}
            />
          ))}
        </ol>
      )}
      <FieldError id="path-rules-error" text={error} />
      <p role="status" className="sr-only">
        {moved}
      </p>
      {!readOnly && (
        <Button
          size="sm"
          data-act="add"
          icon={<Plus aria-hidden="true" />}
          onClick={add}
          disabled={rules.length >= policyLimits.rules}
          className="justify-self-start"
        >
          Add rule
        </Button>
      )}
      <p className="text-sm text-ink-soft">
        <code>/docs</code> matches only that path, <code>/docs/*</code> also everything below it, and <code>/*</code> every path.{' '}
        <code>/mcp#tools/call delete_*</code> matches calls of an MCP server by method and tool; other requests for that path are
        then refused unless they name their call.
      </p>
    </div>
  );
}

/** Focuses the new rule after a render, or the neighbour of a removed one. React keeps the focus in a row that moves. */
function useFocusAfterChange() {
  const place = useRef<HTMLDivElement>(null);
  const [next, setNext] = useState<{ readonly selector: string }>();
  useLayoutEffect(() => {
    if (next) place.current?.querySelector<HTMLElement>(next.selector)?.focus();
  }, [next]);
  return { place, focusNext: (selector: string) => setNext({ selector }) };
}

const actionOptions = pathActions.map((action) => ({ value: action, label: actionLabels[action] }));

interface RuleRowProps {
  readonly rule: TypedRule;
  readonly index: number;
  readonly count: number;
  readonly isWrong: boolean;
  readonly readOnly: boolean;
  readonly onChange: (rule: TypedRule) => void;
  readonly onRemove: () => void;
  readonly onMove: (direction: Direction) => void;
}

function RuleRow({ rule, index, isWrong, onChange, ...rest }: RuleRowProps) {
  const place = index + 1;
  return (
    <li data-rule={rule.id} className="flex flex-wrap items-center gap-2 p-2">
      <span aria-hidden="true" className="w-6 text-right text-sm text-ink-faint tabular">
        {place}
      </span>
      <div className="min-w-0 flex-1 basis-48">
        <Input
          mono
          aria-label={`Path of rule ${place}`}
          aria-invalid={isWrong || undefined}
          aria-describedby={isWrong ? 'path-rules-error' : undefined}
          value={rule.path}
          placeholder="/docs/*"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={policyLimits.pathChars}
          onChange={(event) => onChange({ ...rule, path: event.target.value })}
        />
      </div>
      <Select
        label={`Action of rule ${place}`}
        value={rule.action}
        options={actionOptions}
        onChange={(action: PathAction) => onChange({ ...rule, action })}
        className="w-32 max-[34rem]:ml-8"
      />
      <RuleButtons {...rest} place={place} />
    </li>
  );
}

/** A button that cannot move its rule further keeps the focus. */
function RuleButtons({
  place,
  count,
  readOnly,
  onMove,
  onRemove,
}: Pick<RuleRowProps, 'count' | 'readOnly' | 'onMove' | 'onRemove'> & { readonly place: number }) {
  if (readOnly) return null;
  return (
    <span className="ml-auto flex">
      <IconButton
        label={`Move rule ${place} up`}
        data-act="up"
        icon={<ArrowUp aria-hidden="true" />}
        aria-disabled={place === 1}
        onClick={() => onMove('up')}
      />
      <IconButton
        label={`Move rule ${place} down`}
        data-act="down"
        icon={<ArrowDown aria-hidden="true" />}
        aria-disabled={place === count}
        onClick={() => onMove('down')}
      />
      <IconButton label={`Remove rule ${place}`} data-act="remove" icon={<X aria-hidden="true" />} onClick={onRemove} />
    </span>
  );
}
