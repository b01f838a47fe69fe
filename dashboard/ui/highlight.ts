// The syntax highlighter: shiki with its JavaScript engine. The code block loads it on demand, and each grammar at its first use.
import { createHighlighterCore, type HighlighterCore, type LanguageInput } from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';

export type Language = 'yaml' | 'shellscript' | 'systemd';

export type HighlightedLine = readonly { readonly text: string; readonly color: string }[];

const codeTheme = 'vesper';
const plain = '#e8e6e1';

const grammars: Readonly<Record<Language, LanguageInput>> = {
  yaml: () => import('shiki/langs/yaml.mjs'),
  shellscript: () => import('shiki/langs/shellscript.mjs'),
  systemd: () => import('shiki/langs/systemd.mjs'),
};

let shared: Promise<HighlighterCore> | undefined;

function loadHighlighter(): Promise<HighlighterCore> {
  shared ??= createHighlighterCore({
    themes: [import('shiki/themes/vesper.mjs')],
    langs: [],
    engine: createJavaScriptRegexEngine(),
  });
  return shared;
}

export async function highlight(code: string, language: Language): Promise<readonly HighlightedLine[]> {
  const highlighter = await loadHighlighter();
  await highlighter.loadLanguage(grammars[language]);
  const { tokens } = highlighter.codeToTokens(code, { lang: language, theme: codeTheme });
  return tokens.map((line) => line.map((token) => ({ text: token.content, color: token.color ?? plain })));
}
