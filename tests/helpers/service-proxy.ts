// What a load balancer knows of a Service: the addresses of its ready pods, from the EndpointSlices that the controllers write.
import type { ChangeType, Cluster } from './cluster.ts';

interface EndpointSlice {
  readonly metadata: { readonly name: string };
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly conditions: { readonly ready?: boolean };
  }[];
  readonly ports?: readonly { readonly name: string; readonly port: number }[];
}

export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
  /** Name of the port. */
  readonly port: string;
}

/** Tells the addresses with ports at every change. An address that leaves is told only `noticeMs` later, as balancers notice late. */
export function followService(
  cluster: Cluster,
  { namespace, name, port }: ServiceRef,
  onAddresses: (addresses: readonly string[]) => void,
  noticeMs = 0,
): void {
  const slices = new Map<string, EndpointSlice>();
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io/service-name=${name}`;
  const current = (): string[] => [...slices.values()].flatMap((slice) => readyAddresses(slice, port));
  let told: readonly string[] = [];
  const tell = (addresses: readonly string[]): void => {
    told = addresses;
    onAddresses(addresses);
  };
  cluster.follow<EndpointSlice>(path, (type: ChangeType, slice) => {
    if (type === 'DELETED') slices.delete(slice.metadata.name);
    else slices.set(slice.metadata.name, slice);
    tell([...new Set([...told, ...current()])]);
    setTimeout(() => tell(current()), noticeMs).unref();
  });
}

function readyAddresses({ endpoints, ports }: EndpointSlice, wanted: string): string[] {
  const port = ports?.find(({ name }) => name === wanted)?.port;
  const ready = (endpoints ?? []).filter(({ conditions }) => conditions.ready === true);
  // The pods have only addresses of version 4.
  return ready.flatMap(({ addresses }) => addresses.filter((each) => !each.includes(':')).map((each) => `${each}:${port}`));
}
