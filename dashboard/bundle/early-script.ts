// Puts early.js into the page. The file's name has a hash, so that a browser keeps the file: the page renders nothing before it runs.
import { readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

const source = new URL('early.js', import.meta.url);

export const earlyScript = (): Plugin => ({
  name: 'underpass-early-script',
  buildStart() {
    if (this.environment.mode === 'build') this.emitFile({ type: 'asset', name: 'early.js', source: readFileSync(source) });
  },
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle }) => {
      const built = Object.keys(bundle ?? {}).find((name) => /early-[^/]*\.js$/.test(name));
      return [
        { tag: 'script', attrs: { src: built === undefined ? `/@fs${source.pathname}` : `/${built}` }, injectTo: 'head-prepend' },
      ];
    },
  },
});
