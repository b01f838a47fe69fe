// Reads the `data:` lines of the client's event stream. The client sends each event as one line.

/** Takes the text of each chunk, returns the data of every event that is complete. Comments count as a sign of life only. */
export function createEventReader(): (chunk: string) => readonly string[] {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    return lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice('data: '.length));
  };
}
