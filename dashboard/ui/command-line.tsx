// A command to paste into a terminal, with a copy button. Not highlighted: one line is not worth loading the highlighter.
import { CopyButton } from './copy-button.tsx';

export interface CommandLineProps {
  readonly command: string;
  /** Names the copy button: 'Copy <what>'. */
  readonly what: string;
}

export function CommandLine({ command, what }: CommandLineProps) {
  return (
    <div className="flex items-start gap-1 rounded-md bg-[#17191b] py-1 pr-1 pl-4 text-[#e8e6e1] scheme-dark">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach a scrolling area (WCAG 2.1.1). */}
      <pre tabIndex={0} className="min-w-0 flex-1 overflow-x-auto py-1.5 font-mono text-sm">
        <code>{command}</code>
      </pre>
      <CopyButton text={command} what={what} />
    </div>
  );
}
