// Which file a request names: the names on the way to it, or null if the request may name none. Pure.

/** Windows opens a device under these names, with any ending and in any folder. */
const devices = /^(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(\..*)?$/i;

/** Refuses what a system reads in another way than as the name of one thing in the folder before it. */
function isName(name: string, isWindows: boolean): boolean {
  // Dotfiles, `.` and `..`.
  if (name.startsWith('.') || /[/\\\u0000-\u001f\u007f]/.test(name)) return false;
  // A colon is a drive or a stream of the file; dots and spaces at the end are dropped; a tilde may be a short name.
  return !isWindows || !(/[:*?"<>|~]/.test(name) || /[. ]$/.test(name) || devices.test(name));
}

/** `target` is the target of the request line. */
export function parseFilePath(target: string, isWindows: boolean): readonly string[] | null {
  const path = /^\/[^?#]*/.exec(target)?.[0];
  if (path === undefined) return null;
  const names = path.split('/').filter((part) => part !== '');
  try {
    const decoded = names.map(decodeURIComponent);
    return decoded.every((name) => isName(name, isWindows)) ? decoded : null;
  } catch {
    return null;
  }
}
