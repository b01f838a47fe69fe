#!/usr/bin/env node
// The process of underpass-server.

import { createProcessIo } from './process-io.ts';
import { run } from './run.ts';

process.exitCode = await run(process.argv.slice(2), createProcessIo());
// Whatever a library left open must not keep a stopped server alive.
process.exit();
