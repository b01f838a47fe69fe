// Applies the theme that was chosen, before the first paint. Without a choice the system decides (styles/tokens.css).
(() => {
  try {
    const theme = localStorage.getItem('theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // Storage can be refused; the system's theme then stands.
  }
})();
