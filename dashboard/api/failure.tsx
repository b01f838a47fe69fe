// The banner of a task that failed.
import { text } from '@underpass/rules/text/text.ts';
import { Banner } from '../ui/banner.tsx';
import { messageOf } from './error.ts';
import type { Task } from './use-task.ts';

export const Failure = <Input extends readonly unknown[]>({ task }: { readonly task: Task<Input> }) =>
  task.error === undefined ? null : (
    <Banner tone="danger" onDismiss={task.dismiss}>
      {messageOf(task.error) ?? text.error.fallback}
    </Banner>
  );
