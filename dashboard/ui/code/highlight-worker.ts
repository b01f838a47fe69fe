// The syntax highlighter, shiki with its JavaScript engine, in a thread of its own: compiling a grammar keeps a phone busy for half a
// second. It loads each grammar at its first use, and answers on the port that comes with a code.
import { createHighlighterCore, type LanguageInput } from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';
import type { HighlightedLine, Language } from './highlight.ts';

const codeTheme = 'vesper';
const plain = '#e8e6e1';

const grammars: Readonly<Record<Language, LanguageInput>> = {
  yaml: () => import('shiki/langs/yaml.mjs'),
  shellscript: () => import('shiki/langs/shellscript.mjs'),
  systemd: () => import('shiki/langs/systemd.mjs'),
};

const shared = createHighlighterCore({
  themes: [import('shiki/themes/vesper.mjs')],
  langs: [],
  engine: createJavaScriptRegexEngine(),
});

async function highlight(code: string, language: Language): Promise<readonly HighlightedLine[]> {
  const highlighter = await shared;
  await highlighter.loadLanguage(grammars[language]);
  const { tokens } = highlighter.codeToTokens(code, { lang: language, theme: codeTheme });
  return tokens.map((line) => line.map((token) => ({ text: token.content, color: token.color ?? plain })));
}

addEventListener('message', async ({ data, ports }: MessageEvent<{ readonly code: string; readonly language: Language }>) => {
  ports[0]!.postMessage(await highlight(data.code, data.language));
});
