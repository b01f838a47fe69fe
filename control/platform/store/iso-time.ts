// The times of rows, as the API writes them: ISO 8601 in UTC.

export const isoTime = (ms: number): string => new Date(ms).toISOString();

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));
