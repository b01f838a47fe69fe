// Opens a link in the user's browser, if there is one. The caller prints the link in any case.
import type { Io } from './io.ts';

const openers: Readonly<Record<Io['platform'], readonly string[]>> = {
  linux: ['xdg-open'],
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** BROWSER names another program; if it is empty, no browser opens. Returns false if no program could be started. */
export async function openBrowser(io: Io, link: string): Promise<boolean> {
  const own = io.env.BROWSER;
  if (own === '' || (io.platform === 'linux' && !own && !io.env.DISPLAY && !io.env.WAYLAND_DISPLAY)) return false;
  const [file, ...args] = own ? [own] : openers[io.platform];
  return io.start(file as string, [...args, link]);
}
