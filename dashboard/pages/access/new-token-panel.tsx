// Creates a machine token.
import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { callApi } from '../../api/request.ts';
import { formPanel, type InOverlay } from '../../form/overlay-form.tsx';
import { useProject } from '../../session/session.ts';
import { NamedSecretForm } from './named-secret-form.tsx';

interface TokenFormProps extends InOverlay {
  readonly policy: string;
  readonly onCreated: (token: AnswerOf<typeof accessCalls.createAccessToken>) => void;
}

export const NewMachineTokenPanel = formPanel(
  { title: 'Create machine token', description: 'It is shown only once.' },
  TokenForm,
);

function TokenForm({ policy, onCreated, onDone }: TokenFormProps) {
  const project = useProject();
  return (
    <NamedSecretForm
      days="90"
      hint="What uses the token, such as ‘health check’."
      failureTitle="The token was not created."
      send={async (payload) =>
        onCreated(await callApi(accessCalls.createAccessToken, { project: project.id, name: policy, payload }))
      }
      onCancel={onDone}
    />
  );
}
