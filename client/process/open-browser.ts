// Opens a link in the user's browser where there is one; the link is printed in any case.
import type { Io } from './io.ts';

const openers: Readonly<Record<Io['platform'], readonly string[]>> = {
  linux: ['xdg-open'],
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** BROWSER names another program; an empty one means none. Answers false where nothing could be started. */
export async function openBrowser(io: Io, link: string): Promise<boolean> {
  const own = io.env.BROWSER;
  if (own === '' || (io.platform === 'linux' && !own && !io.env.DISPLAY && !io.env.WAYLAND_DISPLAY)) return false;
  const [file, ...args] = own ? [own] : openers[io.platform];
  return io.start(file as string, [...args, link]);
}
