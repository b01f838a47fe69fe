// The process of underpass-server.

import { run } from './cli.ts';
import { createProcessIo } from './process/process-io.ts';

// Only the server's user can read the files that the server makes, in any folder.
process.umask(0o077);
process.exitCode = await run(process.argv.slice(2), createProcessIo());
// End here even if a library left a handle open.
process.exit();
