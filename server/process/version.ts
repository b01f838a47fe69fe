// The version of this release.

import manifest from '../package.json' with { type: 'json' };

export const version: string = manifest.version;
export const software = `underpass/${version}`;
