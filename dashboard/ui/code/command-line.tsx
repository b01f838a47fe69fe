// A command to paste into a terminal, with a copy button. Not highlighted: one line is not worth loading the highlighter.
import { CopyButton } from '../copy-button.tsx';

interface CommandLineProps {
  readonly command: string;
  /** Names the copy button: 'Copy <what>'. */
  readonly what: string;
}

export function CommandLine({ command, what }: CommandLineProps) {
  return (
    <div className="flex items-start gap-1 rounded-md border border-edge/40 bg-[#17191b] py-1 pr-1 pl-4 text-[#e8e6e1] scheme-dark">
      <pre className="min-w-0 flex-1 py-1.5 font-mono text-sm wrap-anywhere whitespace-pre-wrap">
        <code>{command}</code>
      </pre>
      <CopyButton text={command} what={what} />
    </div>
  );
}
