// Runs work in the next turn of the event loop, once, however often it is asked for until then.

export function createNextTurn(work: () => void): () => void {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      work();
    });
  };
}
