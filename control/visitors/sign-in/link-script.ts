// The script of the share link's page and of the sign-in page. The secret is in the link's fragment, which no server and no log
// sees: the script keeps it in the tab's storage while the edge gives the browser its nonce, then posts it.

import { createHash } from 'node:crypto';

export const linkScript = `(() => {
  const opener = document.querySelector('[data-opens]');
  if (opener) {
    const secret = location.hash.slice(1);
    if (/^[\\w-]{20,100}$/.test(secret)) sessionStorage.setItem('link:' + opener.dataset.opens, secret);
    history.replaceState(null, '', location.pathname + location.search);
    if (sessionStorage.getItem('link:' + opener.dataset.opens) === null) {
      opener.parentElement.hidden = true;
      document.querySelector('[data-incomplete]').hidden = false;
    }
    return;
  }
  const form = document.querySelector('form[data-link]');
  const key = form && 'link:' + form.dataset.link;
  const secret = form && sessionStorage.getItem(key);
  if (!secret) return;
  sessionStorage.removeItem(key);
  form.elements.secret.value = secret;
  form.submit();
})();
`;

/** Changes with the text, so that browsers may keep it. */
export const linkScriptPath = `/access/link.js?${createHash('sha256').update(linkScript).digest('hex').slice(0, 12)}`;
