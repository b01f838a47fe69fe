// The last value of something that is not always there, such as the text of a dialog that fades out.
import { useState } from 'react';

export function useLast<T>(value: T | undefined): T | undefined {
  const [last, setLast] = useState(value);
  if (value !== undefined && value !== last) setLast(value);
  return value ?? last;
}
