// Decides whether other users of this machine may read a token file. Pure: the facts about file, process and mounts are passed in.

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
  /** /proc/self/mountinfo; empty if the system has none. */
  readonly mounts: string;
}

/** Where systemd and container engines mount secrets: if a group may read them, it is the group of this process. */
const secretMount = /^\/(var\/)?run\/(secrets|credentials|user\/\d+\/credentials)\//;

export function isOpenToOthers(file: FileFacts, reader: Reader): boolean {
  const isForGroup = secretMount.test(file.path) || isSecretVolume(file, reader);
  return (file.mode & (isForGroup ? 0o037 : 0o077)) !== 0;
}

/**
 * A Kubernetes Secret with fsGroup: a file of root, of a group of this process, in a read-only mount. The same file on an
 * ordinary disk may belong to a group of people.
 */
function isSecretVolume({ path, uid, gid }: FileFacts, reader: Reader): boolean {
  return uid === 0 && reader.uid !== 0 && reader.gids.includes(gid) && isReadOnlyMount(path, reader.mounts);
}

/** proc(5), mountinfo: the fifth word is the mount point, the sixth its options. The longest mount point above the path holds it. */
export function isReadOnlyMount(path: string, mounts: string): boolean {
  let best = { length: -1, readOnly: false };
  for (const line of mounts.split('\n')) {
    const [, , , , point = '', options = ''] = line.split(' ');
    const folder = decodeOctal(point);
    const isAbove = folder === '/' || path === folder || path.startsWith(`${folder}/`);
    // A later mount on the same folder hides an earlier one.
    if (folder !== '' && isAbove && folder.length >= best.length)
      best = { length: folder.length, readOnly: options.split(',').includes('ro') };
  }
  return best.readOnly;
}

const decodeOctal = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
