// Logs out, after a question if that would lose unsaved work.
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { useNavigate } from 'react-router';
import { messageOf } from '../api/error.ts';
import { forgetAll } from '../api/forget.ts';
import { callApi } from '../api/request.ts';
import { paths } from '../routing/paths.ts';
import { toast } from '../ui/overlay/toast.tsx';
import { letPass, unsaved } from '../unsaved/use-unsaved.ts';

export function useLogOut(): () => void {
  const navigate = useNavigate();
  const logOut = async () => {
    try {
      await callApi(sessionCalls.logOutByPost, {});
    } catch (error) {
      return toast.failed('Could not log out.', messageOf(error));
    }
    forgetAll();
    letPass(() => navigate(paths.home()));
  };
  return () => unsaved.leave(unsaved.page, logOut);
}
