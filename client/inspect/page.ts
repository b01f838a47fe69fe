// The files of the inspector's page.

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly encoding: 'gzip' | '';
}

/** By path: `/`, `/assets/…`. */
export async function loadPage(): Promise<ReadonlyMap<string, PageFile>> {
  const bytes = Buffer.from(
    '<!doctype html><title>Inspector</title><p>The page is not part of this build. Use "underpass inspect".</p>',
  );
  return new Map([['/', { type: 'text/html; charset=utf-8', bytes, encoding: '' }]]);
}
