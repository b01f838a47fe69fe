// Short texts that this browser remembers. Without storage nothing is remembered, and nothing fails.

export function readKept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function keep(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // Storage is off or full: the next visit starts from the default.
  }
}
