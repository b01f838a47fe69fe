// No domains: a gantry over the road with blank signs.
import { Ground, Scene } from './scene.tsx';

export function NoDomainsIllustration() {
  return (
    <Scene>
      <path d="M30 112V26h160v86" />
      <path d="M30 26h160M30 34h160M42 26l8 8M66 26l8 8M90 26l8 8M114 26l8 8M138 26l8 8M162 26l8 8" className="stroke-line" />
      <path d="M30 26h160v8H30z" />
      <rect x="46" y="42" width="58" height="36" rx="4" className="fill-accent" />
      <path d="M56 54h26M56 66h16" className="stroke-on-accent" strokeWidth="3" />
      <path d="M92 56v12M88 64l4 4 4-4" className="stroke-on-accent" />
      <rect x="116" y="42" width="58" height="36" rx="4" className="fill-surface" strokeDasharray="5 5" />
      <path d="M145 53v14M138 60h14" />
      <path d="M60 34v8M90 34v8M130 34v8M160 34v8" />
      <Ground />
    </Scene>
  );
}
