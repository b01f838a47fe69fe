// Runs before the first paint and before any other script. A file, because the content policy forbids inline scripts.
try {
  // The stored theme. Without one, the system's theme applies (styles/tokens.css).
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // The browser may refuse storage; then the system's theme applies.
}
