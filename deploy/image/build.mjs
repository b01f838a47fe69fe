#!/usr/bin/env node
// Starts images.ts under the pinned Node. build.ts is a link to this file.
import { runPinned } from '../../tools/pinned-node.mjs';

await runPinned(import.meta.url, () => import('./images.ts'));
