// An address as a QR code, for the camera of a phone. The encoder loads when the dialog opens.

import { loadCode } from '../code-loading/load-code.ts';
import { Button } from '../ui/button.tsx';
import { ErrorPanel } from '../ui/error-panel.tsx';
import { Dialog } from '../ui/overlay/dialog.tsx';
import { LoadingArea } from '../ui/spinner.tsx';
import { useFetched } from './use-fetched.ts';

interface QrDialogProps {
  /** undefined: closed. */
  readonly address: string | undefined;
  readonly onClose: () => void;
}

export function QrDialog({ address, onClose }: QrDialogProps) {
  return (
    <Dialog
      open={address !== undefined}
      onOpenChange={(open) => open || onClose()}
      title="QR code"
      description={address}
      actions={<Button onClick={onClose}>Close</Button>}
    >
      {address !== undefined && <QrCode text={address} />}
    </Dialog>
  );
}

const codeClass = 'mx-auto aspect-square w-full max-w-72';

function QrCode({ text }: { readonly text: string }) {
  const { data, error, busy, reload } = useFetched({ key: `qr ${text}`, fetch: () => encode(text) });
  if (error !== undefined) return <ErrorPanel message="The QR code could not be loaded." onRetry={reload} busy={busy} />;
  if (data === undefined) return <LoadingArea className={codeClass} />;
  return (
    <svg
      role="img"
      aria-label={`QR code of ${text}`}
      viewBox={`0 0 ${data.size} ${data.size}`}
      className={`${codeClass} rounded-md`}
    >
      <rect width="100%" height="100%" fill="#fff" />
      <path d={data.path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}

/** Modules of quiet zone: what ISO/IEC 18004 asks for. */
const borderModules = 4;

async function encode(text: string) {
  const { default: encodeQr } = await loadCode(() => import('qr'));
  const rows = encodeQr(text, 'raw', { border: borderModules });
  const path = rows.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return { size: rows.length, path };
}
