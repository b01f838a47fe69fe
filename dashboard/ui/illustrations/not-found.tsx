// Page not found: the road ends at a striped barrier with a blank sign.
import { Ground, Scene } from './scene.tsx';

export function NotFoundIllustration() {
  return (
    <Scene>
      <path d="M52 112V72M168 112V72M40 112h24M156 112h24" />
      <path d="M36 58h148v20H36z" className="fill-surface" />
      <path
        d="M48 58h16L52 78H36l12-20zM80 58h16L84 78H68zM112 58h16l-12 20h-16zM144 58h16l-12 20h-16zM176 58h8v8l-7 12h-13z"
        className="fill-accent stroke-none"
      />
      <path d="M36 58h148v20H36zM36 86h148v8H36z" />
      <circle cx="62" cy="50" r="8" className="fill-accent-soft" />
      <circle cx="158" cy="50" r="8" className="fill-accent-soft" />
      <path d="M110 40V12M98 24l12-12 12 12" className="stroke-line" strokeDasharray="4 6" />
      <Ground />
    </Scene>
  );
}
