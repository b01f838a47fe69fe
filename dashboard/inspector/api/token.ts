// The token of this page: the link that the client prints has it in its fragment, which browsers do not send.

const KEY = 'inspector-token';

/** Reads the token once and removes it from the address, so that it is in no history and no copied link. */
export function takeToken(): string {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given === null) return sessionStorage.getItem(KEY) ?? '';
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, '', location.pathname);
  return given;
}
