// Runs before the first paint and before any other script. A file, because the content policy forbids inline scripts.
(() => {
  try {
    // The stored theme. Without one, the system's theme applies (styles/tokens.css).
    const theme = localStorage.getItem('theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // The browser may refuse storage; then the system's theme applies.
  }
  // A tunnel's page asks for its tunnel now, and not once its script has come (api/tunnels.ts).
  const [, project, name] = /^\/projects\/([^/]+)\/tunnels\/([^/]+)$/.exec(location.pathname) ?? [];
  if (name === undefined || document.querySelector('meta[name="session"]')) return;
  const link = document.createElement('link');
  Object.assign(link, { rel: 'preload', as: 'fetch', crossOrigin: '' });
  link.href = `/api/tunnels/${name}?project=${project}&metrics=1`;
  document.head.append(link);
})();
