// The account menu: the signed-in user, the theme, the account page, Log out (spec 2, Project shell).
import type { User } from '@underpass/rules/entity/entity.ts';
import { CircleUser, LogOut, Monitor, Moon, Sun, UserCog, Wrench } from 'lucide-react';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { paths } from '../routing/paths.ts';
import { Breakable } from '../ui/breakable.tsx';
import { IconButton } from '../ui/button.tsx';
import { Menu, MenuChoice, MenuItem, MenuNote, MenuSeparator } from '../ui/overlay/menu.tsx';
import { keepTheme, readTheme, type Theme } from '../ui/theme.ts';
import { useLogOut } from './use-log-out.ts';

const themes = [
  { value: 'system', label: 'System', icon: <Monitor aria-hidden="true" /> },
  { value: 'light', label: 'Light', icon: <Sun aria-hidden="true" /> },
  { value: 'dark', label: 'Dark', icon: <Moon aria-hidden="true" /> },
] as const;

export function AccountMenu({ user }: { readonly user: User }) {
  const navigate = useNavigate();
  const logOut = useLogOut();
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
      <MenuItem icon={<LogOut aria-hidden="true" />} onClick={logOut}>
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
