// What to do with the address of an ingress domain.
import type { IngressDomain } from '@underpass/rules/entity/entity.ts';
import { ArrowUpRight, EllipsisVertical, QrCode, SquareTerminal } from 'lucide-react';
import { IconButton } from '../../ui/button.tsx';
import { writeClipboard } from '../../ui/copy-button.tsx';
import { Menu, MenuItem, MenuLink } from '../../ui/overlay/menu.tsx';
import { toast } from '../../ui/overlay/toast.tsx';

interface DomainMenuProps {
  readonly domain: IngressDomain;
  readonly onQrCode: (address: string) => void;
}

export function DomainMenu({ domain: { name, url }, onQrCode }: DomainMenuProps) {
  const copyCurl = () => {
    writeClipboard(`curl ${url}`);
    toast.done('curl command copied.');
  };
  return (
    <Menu trigger={<IconButton label={`Actions for ${name}`} icon={<EllipsisVertical aria-hidden="true" />} />}>
      <MenuLink icon={<ArrowUpRight aria-hidden="true" />} href={url}>
        Open
      </MenuLink>
      <MenuItem icon={<SquareTerminal aria-hidden="true" />} onClick={copyCurl}>
        Copy curl
      </MenuItem>
      <MenuItem icon={<QrCode aria-hidden="true" />} onClick={() => onQrCode(url)}>
        QR code
      </MenuItem>
    </Menu>
  );
}
