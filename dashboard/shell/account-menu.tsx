// The account menu: the signed-in user, the theme, the account page, Log out (spec 2, Project shell).
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import type { User } from '@underpass/rules/entity/entity.ts';
import { CircleUser, LogOut, Monitor, Moon, Sun, UserCog, Wrench } from 'lucide-react';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { messageOf } from '../api/error.ts';
import { forgetAll } from '../api/forget.ts';
import { callApi } from '../api/request.ts';
import { paths } from '../routing/paths.ts';
import { Breakable } from '../ui/breakable.tsx';
import { IconButton } from '../ui/button.tsx';
import { Menu, MenuChoice, MenuItem, MenuNote, MenuSeparator } from '../ui/overlay/menu.tsx';
import { toast } from '../ui/overlay/toast.tsx';
import { keepTheme, readTheme, type Theme } from '../ui/theme.ts';
import { letPass, unsaved } from '../unsaved/use-unsaved.ts';

const themes = [
  { value: 'system', label: 'System', icon: <Monitor aria-hidden="true" /> },
  { value: 'light', label: 'Light', icon: <Sun aria-hidden="true" /> },
  { value: 'dark', label: 'Dark', icon: <Moon aria-hidden="true" /> },
] as const;

export function AccountMenu({ user }: { readonly user: User }) {
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
  return (
    <Menu trigger={<IconButton size="md" label="Account" icon={<CircleUser aria-hidden="true" className="size-5!" />} />}>
      <MenuNote>
        Signed in as
        <strong className="block wrap-anywhere text-ink">
          <Breakable text={user.email} />
        </strong>
      </MenuNote>
      <MenuSeparator />
      <MenuItem icon={<UserCog aria-hidden="true" />} onClick={() => navigate(paths.account())}>
        Account
      </MenuItem>
      {user.operator && (
        <MenuItem icon={<Wrench aria-hidden="true" />} onClick={() => navigate(paths.operatorHome())}>
          Operator pages
        </MenuItem>
      )}
      <MenuSeparator />
      <ThemeChoice />
      <MenuSeparator />
      <MenuItem icon={<LogOut aria-hidden="true" />} onClick={() => unsaved.leave(unsaved.page, logOut)}>
        Log out
      </MenuItem>
    </Menu>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState(readTheme);
  const choose = (next: Theme) => {
    keepTheme(next);
    setTheme(next);
  };
  return <MenuChoice label="Theme" value={theme} options={themes} onChange={choose} />;
}
