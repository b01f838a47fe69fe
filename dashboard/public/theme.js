// Applies the stored theme before the first paint. Without one, the system's theme applies (styles/tokens.css).
(() => {
  try {
    const theme = localStorage.getItem('theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // The browser may refuse storage; then the system's theme applies.
  }
})();
