// The chosen theme; 'system' follows the operating system. bundle/early.js applies the stored choice before the first paint.

export type Theme = 'system' | 'light' | 'dark';

const storageKey = 'theme';

/** Reads a stored theme. Unknown text means 'system'. */
export function parseTheme(stored: string | null): Theme {
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function readTheme(): Theme {
  try {
    return parseTheme(localStorage.getItem(storageKey));
  } catch {
    return 'system';
  }
}

export function keepTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'system') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Without storage the choice lasts until the page reloads.
  }
}
