// Whether others on this machine may read a token's file. Pure: what the system says of file, process and mounts is passed in.

export interface FileFacts {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

export interface Reader {
  readonly uid: number;
  /** All groups of the process. */
  readonly gids: readonly number[];
  /** /proc/self/mountinfo; empty where there is none. */
  readonly mounts: string;
}

/** systemd and container engines mount what they hand over there: for the group of this process, if for any. */
const handedOver = /^\/(var\/)?run\/(secrets|credentials|user\/\d+\/credentials)\//;

export function isOpenToOthers(file: FileFacts, reader: Reader): boolean {
  const isForGroup = handedOver.test(file.path) || isSecretVolume(file, reader);
  return (file.mode & (isForGroup ? 0o037 : 0o077)) !== 0;
}

/**
 * A Secret of Kubernetes with fsGroup: root's file, of a group of this process, in a mount that nobody writes to. The
 * same file on an ordinary disk may be for a group of people.
 */
function isSecretVolume({ path, uid, gid }: FileFacts, reader: Reader): boolean {
  return uid === 0 && reader.uid !== 0 && reader.gids.includes(gid) && isReadOnlyMount(path, reader.mounts);
}

/** proc(5), mountinfo: the fifth word is where, the sixth how. The longest one over the path is the one it is in. */
export function isReadOnlyMount(path: string, mounts: string): boolean {
  let best = { length: -1, readOnly: false };
  for (const line of mounts.split('\n')) {
    const [, , , , point = '', options = ''] = line.split(' ');
    const folder = decodeOctal(point);
    const isOver = folder === '/' || path === folder || path.startsWith(`${folder}/`);
    // A later mount on the same folder hides the one before.
    if (folder !== '' && isOver && folder.length >= best.length)
      best = { length: folder.length, readOnly: options.split(',').includes('ro') };
  }
  return best.readOnly;
}

const decodeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
