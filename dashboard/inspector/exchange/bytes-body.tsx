// Bodies for which the page needs the bytes: images, and the hex dump of any body.

import type { Side } from '@underpass/rules/inspect/calls.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { type ReactNode, useEffect, useState } from 'react';
import { LoadingArea } from '../../ui/spinner.tsx';
import { getBody } from '../api/calls.ts';
import { renderHex } from '../core/hex.ts';
import { TextBlock } from './text-block.tsx';

interface BytesProps {
  readonly id: number;
  readonly side: Side;
}

function useBytes(id: number, side: Side): { readonly bytes?: ArrayBuffer; readonly error?: Error } {
  const [loaded, setLoaded] = useState<{ bytes?: ArrayBuffer; error?: Error }>({});
  useEffect(() => {
    const stop = new AbortController();
    getBody(id, side, stop.signal).then(
      (bytes) => setLoaded({ bytes }),
      (error: Error) => stop.signal.aborted || setLoaded({ error }),
    );
    return () => stop.abort();
  }, [id, side]);
  return loaded;
}

function Bytes({ id, side, children }: BytesProps & { readonly children: (bytes: ArrayBuffer) => ReactNode }) {
  const { bytes, error } = useBytes(id, side);
  if (error !== undefined) return <p className="text-base text-ink-soft">{error.message}</p>;
  return bytes === undefined ? <LoadingArea className="min-h-32" /> : children(bytes);
}

/** A hex dump is four times as long as its bytes, and nobody reads a megabyte of it. */
const mostHexBytes = 16_384;

export function HexBody({ bytes: size, ...of }: BytesProps & { readonly bytes: number }) {
  return (
    <Bytes {...of}>
      {(bytes) => (
        <>
          <TextBlock
            isTable
            text={renderHex(new Uint8Array(bytes, 0, Math.min(bytes.byteLength, mostHexBytes)))}
            label={`Bytes of the ${of.side} body`}
          />
          {size > mostHexBytes && <p className="text-sm text-ink-soft">The first {formatSize(mostHexBytes)}.</p>}
        </>
      )}
    </Bytes>
  );
}

/** The bytes come from a stranger. The browser decodes them as one of these or not at all; SVG is not among them. */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp', 'image/x-icon']);

export function ImageBody({ mediaType, ...of }: BytesProps & { readonly mediaType: string }) {
  if (!imageTypes.has(mediaType))
    return <p className="text-base text-ink-soft">The inspector does not show images of this type.</p>;
  return <Bytes {...of}>{(bytes) => <Picture bytes={bytes} mediaType={mediaType} side={of.side} />}</Bytes>;
}

function Picture({ bytes, mediaType, side }: { readonly bytes: ArrayBuffer; readonly mediaType: string; readonly side: Side }) {
  const [url, setUrl] = useState<string>();
  const [size, setSize] = useState('');
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes], { type: mediaType }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, mediaType]);
  return (
    <figure className="grid justify-items-start gap-2">
      <img
        src={url}
        alt={`Body of the ${side}`}
        onLoad={({ currentTarget }) => setSize(`${currentTarget.naturalWidth} × ${currentTarget.naturalHeight} px`)}
        onError={() => setSize('The browser cannot show this image.')}
        className="max-h-96 min-h-8 max-w-full min-w-8 rounded-md border bg-sunken object-contain"
      />
      <figcaption className="text-sm text-ink-soft">{size}</figcaption>
    </figure>
  );
}
