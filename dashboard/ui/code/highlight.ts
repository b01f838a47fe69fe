// Asks the highlighter for the colours of a code. Its worker starts at the first use. If it fails, the code stays plain.

export type Language = 'yaml' | 'shellscript' | 'systemd';

export type HighlightedLine = readonly { readonly text: string; readonly color: string }[];

let shared: Worker | undefined;

function startWorker(): Worker {
  const worker = new Worker(new URL('./highlight-worker.ts', import.meta.url), { type: 'module' });
  worker.addEventListener('error', (event) => console.error('Highlighting failed', event.message));
  return worker;
}

/** Calls back once, unless it fails or the returned function is called first. */
export function highlight(code: string, language: Language, show: (lines: readonly HighlightedLine[]) => void): () => void {
  shared ??= startWorker();
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }: MessageEvent<readonly HighlightedLine[]>) => {
    port1.close();
    show(data);
  };
  shared.postMessage({ code, language }, [port2]);
  return () => port1.close();
}
