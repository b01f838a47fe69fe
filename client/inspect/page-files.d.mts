// The built files of the inspector's page. `npm run build` generates the module (dashboard/inspector/vite.config.ts).

export declare const pageFiles: readonly (readonly [path: string, type: string, encoding: 'gzip' | '', base64: string])[];
