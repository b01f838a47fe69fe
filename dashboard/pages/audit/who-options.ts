// The choices of a project's audit log by who acted: members, API tokens, and who is no person.
import { projectCalls } from '@underpass/rules/api/project-calls.ts';
import { nameActor } from '@underpass/rules/people/audit-sentence.ts';
import { callApi } from '../../api/request.ts';
import { useFetched } from '../../api/use-fetched.ts';
import type { WhoOption } from './audit-filter-fields.tsx';

const others: readonly WhoOption[] = ['operator', 'underpass'].map((value) => ({ value, label: nameActor(value) }));

/** Leaves out members or tokens that fail to load. */
export function useWhoOptions(project: string): readonly WhoOption[] {
  const { data } = useFetched({
    key: `who ${project}`,
    fetch: async (signal): Promise<readonly WhoOption[]> => {
      const [members, tokens] = await Promise.allSettled([
        callApi(projectCalls.listMembers, { project }, { signal }),
        callApi(projectCalls.listApiTokens, { project }, { signal }),
      ]);
      signal.throwIfAborted();
      return [
        ...(members.status === 'fulfilled' ? members.value : []).map(({ email, firstName, lastName }) => ({
          value: email,
          label: `${firstName} ${lastName} (${email})`,
        })),
        { value: 'api-token', label: 'Any API token' },
        ...[...new Set((tokens.status === 'fulfilled' ? tokens.value : []).map(({ name }) => name))].map((name) => ({
          value: `api-token:${name}`,
          label: `API token ${name}`,
        })),
      ];
    },
  });
  return [...(data ?? []), ...others];
}
