// The token of this page: the link that the client prints has it in its fragment, which browsers do not send.

const key = 'inspector-token';

/** What the client makes. A damaged link may hold what no header can carry: then every call would fail as if the client were away. */
const pattern = /^[\w-]{1,100}$/;

/** Reads the token once and removes it from the address, so that it is in no history and no copied link. */
export function takeToken(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given === null) return sessionStorage.getItem(key) ?? '';
  const token = pattern.test(given) ? given : '';
  sessionStorage.setItem(key, token);
  history.replaceState(null, '', location.pathname);
  return token;
}

/** Another link opened in this tab changes the fragment only: no page loads by itself. */
export function loadOnNewToken(): void {
  addEventListener('hashchange', () => {
    if (location.hash.startsWith('#token=')) location.reload();
  });
}
