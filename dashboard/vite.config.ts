// Builds the dashboard into dist/ as plain files: no inline script or style, so that it runs under the strict CSP of control.
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const CONTROL_IN_DEVELOPMENT = 'http://localhost:8400';
const FIRST_FONT = /overpass-latin-wght-normal.*\.woff2$/;

/** What every screen needs travels as a few files: small ones compress badly. */
const CHUNKS = [
  { name: 'react', test: /node_modules\/(react|react-dom|scheduler|react-router)\// },
  {
    name: 'form',
    test: /dashboard\/(form\/(text-field|use-form)|bot-check\/bot-check|pages\/auth-card|ui\/(button|field|input|banner|spinner)\.tsx)|lucide-react\/.*createLucideIcon/,
  },
];

/** The first screen is text: its face is asked for together with the style sheet, not after it. */
function preloadFont(): Plugin {
  return {
    name: 'underpass-preload-font',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle }) {
        const font = Object.keys(bundle ?? {}).find((name) => FIRST_FONT.test(name));
        if (font === undefined) return [];
        return [
          {
            tag: 'link',
            attrs: { rel: 'preload', as: 'font', type: 'font/woff2', href: `/${font}`, crossorigin: '' },
            injectTo: 'head',
          },
        ];
      },
    },
  };
}

export default defineConfig({
  plugins: [react(), tailwindcss(), preloadFont()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // data: URIs are outside font-src and img-src 'self'.
    assetsInlineLimit: 0,
    // light-dark() is used as it is: these are the first browsers that know it.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    manifest: true,
    rolldownOptions: { output: { codeSplitting: { groups: CHUNKS } } },
    reportCompressedSize: true,
  },
  server: {
    proxy: Object.fromEntries(['/api', '/auth', '/releases'].map((path) => [path, CONTROL_IN_DEVELOPMENT])),
  },
});
