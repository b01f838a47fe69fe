export function runPinned(url: string, load: () => Promise<unknown>): Promise<void>;
