// Runs tasks once at the end of the current event-loop turn: after every socket that was readable in it has been read.
// This is what lets the small writes of many visitors leave in one system call.

let tasks: (() => void)[] = [];
let scheduled = false;

/** The task must not throw. Bounded by its callers: each registers at most once per turn. */
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
