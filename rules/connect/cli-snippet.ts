// The CLI tab: shell lines that store the token in a private file and start the client in the foreground.

import { type ConnectTunnel, type ConnectUpstreams, commandGroups } from './command.ts';
import { resourceName } from './resource-name.ts';
import { quoteShellWord, renderHereDocument } from './shell-word.ts';
import { joinSections, type Snippet } from './snippet.ts';

export function renderCliSnippet(tunnel: ConnectTunnel, upstreams: ConnectUpstreams): Snippet {
  const tokenFile = `~/.config/underpass/${resourceName(tunnel.name)}.token`;
  const groups = commandGroups(tunnel, upstreams, { quote: quoteShellWord, tokenFile });
  const command = groups.map((group) => group.join(' ')).join(' \\\n  ');
  return joinSections([{ language: 'shellscript', text: `${renderTokenFile(tunnel.token, tokenFile)}underpass ${command}\n` }]);
}

/** A new file each time: an old one would keep the mode it had. The token passes by stdin, never by argv. */
function renderTokenFile(token: string, tokenFile: string): string {
  const { start, rest } = renderHereDocument(token, 'TOKEN');
  return `mkdir -p ~/.config/underpass
(umask 077; rm -f ${tokenFile}; cat > ${tokenFile}) ${start}
${rest}`;
}
