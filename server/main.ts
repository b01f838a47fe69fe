#!/usr/bin/env node
// The process of underpass-server.

import { createProcessIo } from './process/process-io.ts';
import { run } from './run.ts';

// What the server keeps is its user's alone, whatever folder it is given.
process.umask(0o077);
process.exitCode = await run(process.argv.slice(2), createProcessIo());
// Whatever a library left open must not keep a stopped server alive.
process.exit();
