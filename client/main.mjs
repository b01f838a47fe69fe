#!/usr/bin/env node
// Starts underpass.ts under the pinned Node. main.ts is a link to this file.
import { runPinned } from '../tools/pinned-node.mjs';

await runPinned(import.meta.url, () => import('./underpass.ts'));
