// A setting that is saved at once, and shows the old value again if that fails.
import { useState } from 'react';
import { useTask } from './use-task.ts';

export function useSaved<Value>(initial: Value, save: (value: Value) => Promise<unknown>) {
  const [value, setValue] = useState(initial);
  const task = useTask(async (next: Value) => {
    setValue(next);
    await save(next).catch((error: unknown) => {
      setValue(value);
      throw error;
    });
  });
  return { value, task };
}
