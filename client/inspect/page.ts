// The files of the inspector's page: dashboard/inspector, built into one module that loads when the inspector starts.

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** The content coding of the bytes. */
  readonly encoding: 'gzip' | '';
}

/** Files by path: `/`, `/assets/…`. From source, the page may not be built. */
export async function loadPage(): Promise<ReadonlyMap<string, PageFile>> {
  const files = await import('./page-files.mjs').then(
    ({ pageFiles }) => pageFiles,
    () => [],
  );
  if (files.length === 0) return new Map([['/', notBuilt]]);
  return new Map(files.map(([path, type, encoding, base64]) => [path, { type, encoding, bytes: Buffer.from(base64, 'base64') }]));
}

const notBuilt: PageFile = {
  type: 'text/plain; charset=utf-8',
  bytes: Buffer.from('The inspector\'s page is not built: run "npm run build". "underpass inspect" works without it.\n'),
  encoding: '',
};
