// Copies a text where the desktop has a clipboard. No failure matters: the text is on the screen.

import { withTimeout } from '../carry/timeout.ts';
import type { Io } from '../process/io.ts';

/** The X11 and Wayland programs stay, to hand the text out, and keep their output open: silence means that they have it. */
const patienceMs = 300;

/** Programs in the order of trial. */
export function clipboardPrograms({ platform, env }: Pick<Io, 'platform' | 'env'>): readonly (readonly string[])[] {
  if (platform === 'darwin') return [['pbcopy']];
  if (platform === 'win32') return [['clip.exe']];
  return [
    ...(env.WAYLAND_DISPLAY ? [['wl-copy']] : []),
    ...(env.DISPLAY
      ? [
          ['xclip', '-selection', 'clipboard'],
          ['xsel', '--clipboard', '--input'],
        ]
      : []),
    ...(env.WSL_DISTRO_NAME ? [['clip.exe']] : []),
  ];
}

/** Whether a program took the text. */
export async function copyToClipboard(io: Io, text: string): Promise<boolean> {
  for (const [file = '', ...args] of clipboardPrograms(io)) {
    const result = await withTimeout(io.execute(file, args, { input: text }), patienceMs);
    if (result === null || result.code === 0) return true;
  }
  return false;
}
