// Runs tasks once at the end of the current turn of the event loop, after every readable socket has been read.
// Small writes for many visitors then leave in one system call.

let tasks: (() => void)[] = [];
let scheduled = false;

/** The task must not throw. The list is bounded by its callers: each adds at most one task per turn. */
export function atTurnEnd(task: () => void): void {
  tasks.push(task);
  if (scheduled) return;
  scheduled = true;
  setImmediate(runTasks);
}

function runTasks(): void {
  const due = tasks;
  tasks = [];
  scheduled = false;
  for (const task of due) task();
}
