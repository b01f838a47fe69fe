// Asks Chromium to compile every function of some files while they arrive, beside the page. Otherwise it compiles each at its first
// call, and the page waits.
import type { Plugin } from 'vite';
import { readyFiles } from './chunks.ts';

const hint = '//# allFunctionsCalledOnLoad\n';

export const compiledAhead = (): Plugin => ({
  name: 'underpass-compiled-ahead',
  apply: 'build',
  generateBundle: {
    // The hint counts only as the first thing in a file, and Vite puts its list of files there.
    order: 'post',
    handler(_options, bundle) {
      for (const file of Object.values(bundle))
        if (file.type === 'chunk' && readyFiles.has(file.name)) file.code = hint + file.code;
    },
  },
});
