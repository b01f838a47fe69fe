// Loaded before every Node program of a page. An example that imports `underpass` gets the library of this tree, and what it fetches
// goes to the edge and its private authority, as curl's requests do.

import { readFileSync } from 'node:fs';
import http from 'node:http';
import { registerHooks } from 'node:module';
import tls from 'node:tls';

const library = new URL('../../client/library/library.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'underpass') return next(specifier, context);
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), readFileSync(process.env.EXAMPLE_CA, 'utf8')]);
    http.setGlobalProxyFromEnv({ https_proxy: process.env.HTTPS_PROXY, no_proxy: '' });
    return next(library, context);
  },
});
