// Creates a machine token.
import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AnswerOf } from '@underpass/rules/api/call.ts';
import { callApi } from '../../api/request.ts';
import { useProject } from '../../session/session.ts';
import { SidePanel } from '../../ui/overlay/side-panel.tsx';
import { NamedSecretForm } from './named-secret-form.tsx';

export interface NewMachineTokenPanelProps {
  readonly policy: string;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly onCreated: (token: AnswerOf<typeof accessCalls.createAccessToken>) => void;
}

export function NewMachineTokenPanel({ policy, open, onOpenChange, onCreated }: NewMachineTokenPanelProps) {
  const project = useProject();
  return (
    <SidePanel open={open} onOpenChange={onOpenChange} title="Create machine token" description="It is shown only once.">
      <NamedSecretForm
        days="90"
        hint="What uses the token, such as ‘health check’."
        failureTitle="The token was not created."
        send={async (payload) =>
          onCreated(await callApi(accessCalls.createAccessToken, { project: project.id, name: policy, payload }))
        }
        onCancel={() => onOpenChange(false)}
      />
    </SidePanel>
  );
}
