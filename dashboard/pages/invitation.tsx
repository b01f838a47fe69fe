// Accepts an invitation to a project. A button, and not the visit itself, so that a mail scanner accepts nothing.
import { type LoaderFunctionArgs, useNavigate, useParams } from 'react-router';
import { messageOf } from '../api/error.ts';
import { acceptInvitation } from '../api/projects.ts';
import { useTask } from '../api/use-task.ts';
import { paths } from '../paths.ts';
import { rememberProject } from '../project/selected-project.ts';
import { keepReturnPath } from '../return-path.ts';
import { forgetSession, loadSession, useShell } from '../session.ts';
import { Banner } from '../ui/banner.tsx';
import { Button } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { toast } from '../ui/toast.tsx';

/** The mail's link may open before the sign-in; the shell then leads to /login. */
export async function loader({ request }: LoaderFunctionArgs) {
  if (!(await loadSession())) keepReturnPath(new URL(request.url).pathname);
  return null;
}

export function Component() {
  const { token = '' } = useParams();
  const { user } = useShell();
  const navigate = useNavigate();
  const task = useTask(async () => {
    const project = await acceptInvitation(token);
    forgetSession();
    rememberProject(project.id);
    toast.done(`You have joined ${project.name}.`);
    await navigate(paths.dashboard(project.id), { replace: true });
  });
  return (
    <div className="mx-auto max-w-xl">
      <PageHeader title="Join a project" />
      <Card>
        <div className="grid gap-5">
          <p>
            You have been invited to work in a project. You join as <strong className="wrap-anywhere">{user.email}</strong>; the
            invitation has to be for this address.
          </p>
          {task.error !== undefined && <Banner tone="danger">{messageOf(task.error) ?? 'Please try again.'}</Banner>}
          <div>
            <Button variant="primary" busy={task.busy} onClick={() => task.run()}>
              Join project
            </Button>
          </div>
        </div>
      </Card>
    </div>
  );
}
