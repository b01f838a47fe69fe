// The passkeys of the account, and its recovery codes.
import { passkeyCalls } from '@underpass/rules/api/passkey-calls.ts';
import type { Passkey, Passkeys } from '@underpass/rules/entity/resource.ts';
import { acceptField } from '@underpass/rules/parsed.ts';
import { parsePasskeyName } from '@underpass/rules/people/passkey.ts';
import { MoreHorizontal, Plus } from 'lucide-react';
import { useState } from 'react';
import { useRevalidator } from 'react-router';
import { Load } from '../api/load.tsx';
import { callApi } from '../api/request.ts';
import { DialogForm } from '../form/overlay-form.tsx';
import { TextField } from '../form/text-field.tsx';
import type { Confirm } from '../form/use-confirm.tsx';
import { useForm } from '../form/use-form.ts';
import { AddPasskeyDialog } from '../passkey/add.tsx';
import { supportsPasskeys } from '../passkey/supported.ts';
import { forgetSession } from '../session/session.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { Dialog } from '../ui/overlay/dialog.tsx';
import { Menu, MenuItem } from '../ui/overlay/menu.tsx';
import { SecretDialog } from '../ui/overlay/secret-dialog.tsx';
import { dateColumn, menuColumn, titleColumn } from '../ui/table/columns.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import type { Column } from '../ui/table/table-view.tsx';

interface PasskeysCardProps {
  readonly promise: Promise<Passkeys>;
  readonly ask: Confirm['ask'];
}

export function PasskeysCard({ promise, ask }: PasskeysCardProps) {
  const { revalidate } = useRevalidator();
  const [adding, setAdding] = useState(false);
  const reload = async () => {
    forgetSession();
    await revalidate();
  };
  const add = supportsPasskeys() && (
    <Button size="sm" icon={<Plus aria-hidden="true" />} onClick={() => setAdding(true)}>
      Add passkey
    </Button>
  );
  return (
    <Card
      title="Passkeys"
      description="Sign in with a fingerprint, a face, a PIN or a security key. Once you have a passkey, an emailed link alone gives no lasting access."
      actions={add}
      flush
    >
      <div className="border-t">
        <Load promise={promise}>
          {(loaded) => (
            <>
              <PasskeyList passkeys={loaded.passkeys} ask={ask} />
              {loaded.passkeys.length > 0 && <RecoveryCodes left={loaded.recoveryCodes} ask={ask} />}
            </>
          )}
        </Load>
      </div>
      <AddPasskeyDialog open={adding} onOpenChange={setAdding} onAdded={reload} />
    </Card>
  );
}

function PasskeyList({ passkeys, ask }: { readonly passkeys: readonly Passkey[]; readonly ask: Confirm['ask'] }) {
  const [renamed, setRenamed] = useState<Passkey>();
  if (passkeys.length === 0) return <p className="px-4 py-4 text-ink-soft sm:px-5">No passkeys yet.</p>;
  const columns: readonly Column<Passkey>[] = [
    titleColumn('name', 'Name', 'minmax(0, 1.5fr)', ({ name }) => name),
    dateColumn('used', 'Last used', ({ usedAt }) => usedAt, 'first'),
    dateColumn('created', 'Added', ({ createdAt }) => createdAt),
    menuColumn((passkey) => <PasskeyMenu passkey={passkey} onRename={() => setRenamed(passkey)} ask={ask} />),
  ];
  return (
    <>
      <DataTable label="Passkeys" columns={columns} rows={passkeys} rowKey={({ id }) => id} bare />
      <RenameDialog passkey={renamed} onClose={() => setRenamed(undefined)} />
    </>
  );
}

interface PasskeyMenuProps {
  readonly passkey: Passkey;
  readonly onRename: () => void;
  readonly ask: Confirm['ask'];
}

function PasskeyMenu({ passkey: { id, name }, onRename, ask }: PasskeyMenuProps) {
  const remove = () =>
    ask({
      title: 'Remove Passkey',
      warning: `You can no longer sign in with ${name}. Other sessions that used it are signed out.`,
      confirmLabel: 'Remove',
      work: () => callApi(passkeyCalls.removePasskey, { id }),
      done: `${name} removed.`,
    });
  return (
    <Menu trigger={<IconButton label={`Actions for ${name}`} icon={<MoreHorizontal aria-hidden="true" />} />}>
      <MenuItem onClick={onRename}>Rename</MenuItem>
      <MenuItem danger onClick={remove}>
        Remove
      </MenuItem>
    </Menu>
  );
}

function RenameDialog({ passkey, onClose }: { readonly passkey: Passkey | undefined; readonly onClose: () => void }) {
  return (
    <Dialog open={passkey !== undefined} onOpenChange={(open) => open || onClose()} title="Rename passkey" flush>
      {passkey && <RenameForm passkey={passkey} onDone={onClose} />}
    </Dialog>
  );
}

function RenameForm({ passkey, onDone }: { readonly passkey: Passkey; readonly onDone: () => void }) {
  const { revalidate } = useRevalidator();
  const form = useForm({
    initial: { name: passkey.name },
    parse: ({ name }) => acceptField('name', parsePasskeyName(name)),
    send: async (name: string) => {
      await callApi(passkeyCalls.renamePasskey, { id: passkey.id, payload: { name } });
      onDone();
      await revalidate();
    },
  });
  return (
    <DialogForm form={form} submitLabel="Save" onCancel={onDone}>
      <TextField form={form} name="name" label="Name" autoComplete="off" />
    </DialogForm>
  );
}

function RecoveryCodes({ left, ask }: { readonly left: number; readonly ask: Confirm['ask'] }) {
  const [codes, setCodes] = useState<readonly string[]>();
  const { revalidate } = useRevalidator();
  const make = async () => setCodes((await callApi(passkeyCalls.createRecoveryCodes, {})).codes);
  const replace = () =>
    ask({
      title: 'New Recovery Codes',
      warning: left > 0 ? 'Your current codes stop working.' : 'Store them where you can reach them without this device.',
      confirmLabel: 'Create codes',
      work: make,
      done: 'Recovery codes created.',
    });
  const close = async () => {
    setCodes(undefined);
    await revalidate();
  };
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-t px-4 py-4 sm:px-5">
      <div className="min-w-0 flex-1 basis-52">
        <h3 className="font-semibold">Recovery codes</h3>
        <p className="text-sm text-ink-soft">
          {left === 0
            ? 'None yet. Create some, so that you can still confirm changes if you lose your passkey.'
            : `${left} left. Each replaces a lost passkey once.`}
        </p>
      </div>
      <Button size="sm" onClick={replace}>
        {left === 0 ? 'Create recovery codes' : 'Create new recovery codes'}
      </Button>
      <SecretDialog
        title="Your recovery codes"
        label="Recovery codes"
        secret={codes?.join('\n')}
        hint="Keep them apart from your passkeys. If you lose your passkey, sign in by email, then enter a code to confirm it is you."
        onClose={close}
      />
    </div>
  );
}
