// No security groups: a raised barrier lets everything pass.
import { Ground, Scene } from './scene.tsx';

export function NoSecurityGroupsIllustration() {
  return (
    <Scene>
      <path d="M40 58h34v54H40z" className="fill-surface" />
      <path d="M36 48h42v10H36z" className="fill-sunken" />
      <path d="M47 66h20v16H47z" className="fill-accent-soft" />
      <path d="M88 84h18v28H88z" className="fill-sunken" />
      <g transform="rotate(-34 97 84)">
        <path d="M84 78h112v12H84z" className="fill-surface" />
        <path d="M112 78h16v12h-16zM144 78h16v12h-16zM176 78h16v12h-16z" className="fill-accent stroke-none" />
        <path d="M84 78h112v12H84z" />
      </g>
      <circle cx="97" cy="84" r="7" className="fill-surface" />
      <path d="M47 92h20M47 100h12" className="stroke-line" />
      <Ground />
    </Scene>
  );
}
