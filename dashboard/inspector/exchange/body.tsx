// A body in the ways that suit it: JSON as a tree or indented, a form as a table, text, an image, bytes.

import type { Side } from '@underpass/rules/inspect/calls.ts';
import type { BodyView, Exchange } from '@underpass/rules/inspect/exchange.ts';
import { indentJson } from '@underpass/rules/inspect/indent-json.ts';
import { formatSize } from '@underpass/rules/text/size.ts';
import { Download } from 'lucide-react';
import { useMemo, useState } from 'react';
import { saveFile } from '../../api/save-file.ts';
import { useTask } from '../../api/use-task.ts';
import { IconButton } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Segmented } from '../../ui/input/segmented.tsx';
import { getBody } from '../api/calls.ts';
import { parseJson } from '../core/json.ts';
import { HexBody, ImageBody } from './bytes-body.tsx';
import { Pairs } from './headers.tsx';
import { JsonTree } from './json-tree.tsx';
import { TextBlock } from './text-block.tsx';

interface BodyProps {
  readonly exchange: Pick<Exchange, 'id' | 'state'>;
  readonly side: Side;
  readonly body: BodyView;
}

type View = 'tree' | 'pretty' | 'table' | 'image' | 'text' | 'hex';

const labels: Readonly<Record<View, string>> = {
  tree: 'Tree',
  pretty: 'Pretty',
  table: 'Table',
  image: 'Image',
  text: 'Raw',
  hex: 'Hex',
};

export function Body({ exchange, side, body }: BodyProps) {
  const json = useMemo(() => (body.shape === 'json' && body.text !== null ? parseJson(body.text) : undefined), [body]);
  const pretty = useMemo(() => (json === undefined ? undefined : indentJson(body.text ?? '')), [body, json]);
  const views = viewsOf(body, json !== undefined, pretty !== undefined);
  const [choice, setChoice] = useState<View>();
  const view = views.find((one) => one === choice) ?? views[0];
  const copied = view === 'text' ? body.text : (pretty ?? body.text);
  if (body.shape === 'none') return <Quiet text={exchange.state === 'open' ? 'No body yet.' : 'No body.'} />;
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap items-center gap-1">
        {views.length > 1 && view !== undefined && (
          <Segmented
            label={`Views of the ${side} body`}
            value={view}
            options={views.map((value) => ({ value, label: labels[value] }))}
            onChange={setChoice}
          />
        )}
        <span className="ml-auto flex">
          {copied !== null && <CopyButton text={copied} what={`the ${side} body`} />}
          <SaveButton id={exchange.id} side={side} />
        </span>
      </div>
      <BodyNotes body={body} />
      {view === 'tree' && json && <JsonTree value={json.value} label={`Tree of the ${side} body`} />}
      {view === 'pretty' && <TextBlock text={pretty ?? ''} label={`Text of the ${side} body`} />}
      {view === 'text' && <TextBlock text={body.text ?? ''} label={`Text of the ${side} body`} />}
      {view === 'table' && <FieldTable body={body} />}
      {view === 'image' && <ImageBody id={exchange.id} side={side} mediaType={body.mediaType} />}
      {view === 'hex' && <HexBody id={exchange.id} side={side} bytes={body.bytes} />}
    </div>
  );
}

function viewsOf({ shape, text, fields }: BodyView, isJson: boolean, isPretty: boolean): readonly View[] {
  const views: View[] = [];
  if (isJson) views.push('tree');
  if (isPretty) views.push('pretty');
  if (fields.length > 0) views.push('table');
  if (shape === 'image') views.push('image');
  if (text !== null) views.push('text');
  return [...views, 'hex'];
}

function Quiet({ text }: { readonly text: string }) {
  return <p className="text-base text-ink-soft">{text}</p>;
}

function BodyNotes({ body }: { readonly body: BodyView }) {
  const notes = [
    body.isCut && 'The end is missing: the body is longer than the inspector keeps.',
    body.decoded.length > 0 && `Shown decoded from ${body.decoded.join(', ')}.`,
    body.problem,
  ].filter(Boolean);
  if (notes.length === 0) return null;
  return (
    <p className={body.isCut || body.problem ? 'rounded-sm bg-warn-soft px-3 py-2 text-sm text-ink' : 'text-sm text-ink-soft'}>
      {notes.join(' ')}
    </p>
  );
}

function FieldTable({ body }: { readonly body: BodyView }) {
  return (
    <Pairs
      label="Form fields"
      pairs={body.fields.map(({ name, value, fileName, mediaType, bytes }) => [
        name,
        fileName === null ? value : [fileName, mediaType, formatSize(bytes)].filter(Boolean).join(' · '),
      ])}
    />
  );
}

function SaveButton({ id, side }: { readonly id: number; readonly side: Side }) {
  const saving = useTask(async () => saveFile(new Blob([await getBody(id, side)]), `${side}-${id}.bin`));
  const label = saving.error === undefined ? `Download the ${side} body` : (saving.error as Error).message;
  return <IconButton label={label} icon={<Download aria-hidden="true" />} busy={saving.busy} onClick={saving.run} />;
}
