// The chosen theme: 'system' follows the operating system. public/theme.js applies the same key before the first paint.

export type Theme = 'system' | 'light' | 'dark';

const STORAGE_KEY = 'theme';

/** Text from storage to a theme; anything unknown means the system's. */
export function parseTheme(stored: string | null): Theme {
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function readTheme(): Theme {
  try {
    return parseTheme(localStorage.getItem(STORAGE_KEY));
  } catch {
    return 'system';
  }
}

export function keepTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'system') localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, theme);
  } catch {
    // The choice then lasts as long as the page.
  }
}
