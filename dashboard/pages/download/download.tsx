// How to install the command line client, and its files with checksums (spec 2, Download page).
import { publicCalls } from '@underpass/rules/api/public-calls.ts';
import type { Release } from '@underpass/rules/entity/resource.ts';
import { useState } from 'react';
import { type LoaderFunctionArgs, useLoaderData } from 'react-router';
import { later } from '../../api/later.ts';
import { Load } from '../../api/load.tsx';
import { callApi } from '../../api/request.ts';
import { paths } from '../../routing/paths.ts';
import { ButtonLink } from '../../ui/button-link.tsx';
import { Card } from '../../ui/card.tsx';
import { CommandLine } from '../../ui/code/command-line.tsx';
import { PageHeader } from '../../ui/page-header.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { cloneSteps, fileOf, guessSystem, type InstallSteps, type System, systems } from './platform.ts';
import { FileTable } from './release-files.tsx';

export async function loader({ request }: LoaderFunctionArgs) {
  const releases = later(callApi(publicCalls.listReleases, {}, { signal: request.signal }));
  return { meta: await callApi(publicCalls.getMeta, {}, { signal: request.signal }), releases };
}

export function Component() {
  const { meta, releases } = useLoaderData<typeof loader>();
  return (
    <>
      <PageHeader
        title="CLI"
        subtitle="Connect services to your tunnels, and manage them from a terminal."
        actions={<ButtonLink to={paths.releases()}>All releases</ButtonLink>}
      />
      <Load promise={releases} failed={<Installing releases={releases} origin={meta.origin} />}>
        {(loaded) =>
          loaded.length === 0 ? <FromClone origin={meta.origin} /> : <Installing releases={releases} origin={meta.origin} />
        }
      </Load>
    </>
  );
}

interface InstallingProps {
  readonly releases: Promise<readonly Release[]>;
  readonly origin: string;
}

/** Shown too if the releases fail to load: the installers may work, and the card below shows the failure. */
function Installing({ releases, origin }: InstallingProps) {
  const [name, setName] = useState(() => guessSystem(navigator.userAgent));
  const system = systems.find((other) => other.name === name)!;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      <Card>
        <Tabs
          label="System"
          value={name}
          onChange={setName}
          tabs={systems.map((each) => ({ value: each.name, label: each.label }))}
        >
          <Steps install={system.steps(origin)} client="underpass" origin={origin} />
        </Tabs>
      </Card>
      <Card title="Manual download" description="Check a file's checksum before you run it.">
        <Load promise={releases}>{([newest]) => newest && <ByHand release={newest} system={system} />}</Load>
      </Card>
    </div>
  );
}

/** Shown without a release: the installers have nothing to fetch, but a clone of the source contains the client. */
function FromClone({ origin }: { readonly origin: string }) {
  return (
    <Card
      title="No Releases"
      description="This server has no releases yet. Run these commands in a clone of the source; they need Node 20 or newer. Where a page says underpass, type npx underpass."
    >
      <Steps install={cloneSteps} client="npx underpass" origin={origin} />
    </Card>
  );
}

interface StepsProps {
  readonly install: InstallSteps;
  /** The command that starts the client after these steps. */
  readonly client: string;
  readonly origin: string;
}

function Steps({ install, client, origin }: StepsProps) {
  const steps = [
    { title: 'Install the installer tool', what: 'installer command', command: install.getInstaller },
    { title: 'Fetch the CLI with it', what: 'install command', command: install.fetchCli },
    { title: 'Sign in', what: 'sign-in command', command: `${client} login --server ${origin}` },
  ];
  return (
    <ol className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {steps.map(({ title, what, command }, index) => (
        <li key={title} className="grid grid-cols-[minmax(0,1fr)] gap-2">
          <h2 className="flex items-center gap-2.5 font-semibold">
            <span
              aria-hidden="true"
              className="flex size-6 items-center justify-center rounded-full bg-accent text-sm font-bold text-on-accent"
            >
              {index + 1}
            </span>
            {title}
          </h2>
          <CommandLine command={command} what={what} />
        </li>
      ))}
    </ol>
  );
}

function ByHand({ release, system }: { readonly release: Release; readonly system: System }) {
  const file = fileOf(system, release.files);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <FileTable release={release} />
      {file && (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
          <p>Compare the checksum, then move the file into your PATH:</p>
          <CommandLine command={system.checksum(file.name)} what="checksum command" />
          <CommandLine command={system.place(file.name)} what="move command" />
        </div>
      )}
    </div>
  );
}
