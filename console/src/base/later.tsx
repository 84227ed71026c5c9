// later.tsx - a component whose code is loaded when it is first shown.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Loading, Say } from "../ui/say";

export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let ready: ComponentType<P> | null = null;
  return function Later(props: P) {
    const [, turn] = useState(0);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (ready) return;
      load().then(
        (component) => {
          ready = component;
          turn(1);
        },
        () => setFailed(true),
      );
    }, []);
    if (failed) return <Say tone="bad">A part of the console could not be loaded: the node may run another version now. Reload the page.</Say>;
    const Component = ready;
    return Component ? <Component {...props} /> : <Loading />;
  };
}
