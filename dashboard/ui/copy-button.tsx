// Copies a text and confirms it for 1500 ms (spec 9), even if the browser refuses; the refusal is logged (spec 8).
import { durations } from '@underpass/rules/limits.ts';
import { Check, Copy } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button, type ButtonProps, IconButton } from './button.tsx';

/** [copied, copy]: copied is true while the confirmation shows. */
function useCopy(text: string): readonly [boolean, () => void] {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = () => {
    writeClipboard(text);
    setCopied(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), durations.copyConfirmationMs);
  };
  return [copied, copy];
}

/** A refusal of the browser is logged. */
export function writeClipboard(text: string): void {
  const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('No clipboard here'));
  written.catch((error: unknown) => console.error('Copy failed', error));
}

interface CopyButtonProps {
  readonly text: string;
  /** Names the button: 'Copy <what>'. */
  readonly what: string;
  readonly className?: string;
}

export function CopyButton({ text, what, className = '' }: CopyButtonProps) {
  const [copied, copy] = useCopy(text);
  return (
    <>
      <IconButton label={`Copy ${what}`} icon={<CopyIcon copied={copied} />} onClick={copy} className={className} />
      <CopiedNote copied={copied} />
    </>
  );
}

/** The same as a button with text. */
export function CopyTextButton({
  text,
  label = 'Copy',
  ...rest
}: { readonly text: string; readonly label?: string } & ButtonProps) {
  const [copied, copy] = useCopy(text);
  return (
    <>
      <Button size="sm" {...rest} icon={<CopyIcon copied={copied} />} onClick={copy}>
        {label}
      </Button>
      <CopiedNote copied={copied} />
    </>
  );
}

function CopyIcon({ copied }: { readonly copied: boolean }) {
  return copied ? <Check aria-hidden="true" className="text-ok" data-testid="copied" /> : <Copy aria-hidden="true" />;
}

function CopiedNote({ copied }: { readonly copied: boolean }) {
  return (
    <span role="status" className="sr-only">
      {copied ? 'Copied' : ''}
    </span>
  );
}
