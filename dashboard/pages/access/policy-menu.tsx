// The actions on a whole policy: sign its visitors out, delete it.

import { accessCalls } from '@underpass/rules/api/access-calls.ts';
import type { AccessPolicy } from '@underpass/rules/visit/access-policy.ts';
import { EllipsisVertical, LogOut, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { callApi } from '../../api/request.ts';
import { useConfirm } from '../../form/use-confirm.tsx';
import { paths } from '../../routing/paths.ts';
import { useProject } from '../../session/session.ts';
import { IconButton } from '../../ui/button.tsx';
import { Menu, MenuItem } from '../../ui/overlay/menu.tsx';
import { SignOutDialog } from './sign-out-dialog.tsx';

export function PolicyMenu({ policy: { name } }: { readonly policy: AccessPolicy }) {
  const project = useProject();
  const [signingOut, setSigningOut] = useState(false);
  const confirm = useConfirm();
  const remove = () =>
    confirm.ask({
      title: 'Delete Access Policy',
      warning: `${name}, its tokens and its share links are deleted. A policy that a tunnel uses cannot be deleted. This operation is permanent.`,
      confirmLabel: 'Delete',
      work: () => callApi(accessCalls.deleteAccessPolicy, { project: project.id, name }),
      done: `Access policy ${name} deleted.`,
      leadsTo: paths.accessPolicies(project.id),
    });
  return (
    <>
      <Menu
        trigger={
          <IconButton size="md" variant="secondary" label="Policy actions" icon={<EllipsisVertical aria-hidden="true" />} />
        }
      >
        <MenuItem icon={<LogOut aria-hidden="true" />} onClick={() => setSigningOut(true)}>
          Sign out visitors
        </MenuItem>
        <MenuItem icon={<Trash2 aria-hidden="true" />} danger onClick={remove}>
          Delete
        </MenuItem>
      </Menu>
      <SignOutDialog policy={name} open={signingOut} onOpenChange={setSigningOut} />
      {confirm.dialog}
    </>
  );
}
