// A no-entry sign: the user may not open this page.
import { Ground, Scene } from './scene.tsx';

export function NoEntryIllustration() {
  return (
    <Scene>
      <path d="M110 112V88" strokeWidth="5" />
      <circle cx="110" cy="52" r="36" className="fill-surface" />
      <circle cx="110" cy="52" r="29" className="fill-accent stroke-none" />
      <path d="M92 46h36v12H92z" className="fill-on-accent stroke-none" />
      <path d="M44 112V92h16v20M160 112V92h16v20M60 98h20M140 98h20" className="stroke-line" />
      <Ground />
    </Scene>
  );
}
