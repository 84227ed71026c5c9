// page.tsx - Overview: throughput, what needs attention, nodes.
import * as api from "../../api";
import { useEvent } from "../../base/events";
import { useQuery } from "../../base/use_query";
import { Failed } from "../../ui/say";
import { Attention } from "./attention";
import { Nodes } from "./nodes";
import { Traffic } from "./traffic";

const EVERY_MS = 10000;

export function OverviewPage() {
  const dead = useQuery(api.deadGroups, { by: "reason_receiver" }, { every: EVERY_MS });
  const endpoints = useQuery(api.endpoints, {}, { every: EVERY_MS });
  const gateways = useQuery(api.gateways, {}, { every: EVERY_MS });
  const alerts = useQuery(api.alerts, { cleared: false }, { every: EVERY_MS * 3 });
  useEvent("alert", alerts.reload);
  const systems = useQuery(api.systems, { after: null }, { every: EVERY_MS });
  const error = dead.error ?? endpoints.error ?? gateways.error ?? alerts.error ?? systems.error;
  return (
    <>
      <div class="title">
        <h1>Overview</h1>
      </div>
      <Failed error={error} />
      <Traffic />
      <div class="columns">
        <Attention
          groups={dead.data?.deadGroups ?? null}
          endpoints={endpoints.data?.endpoints ?? null}
          gateways={gateways.data?.gateways ?? null}
          alerts={alerts.data?.alerts ?? null}
          systems={systems.data?.systems.items ?? null}
        />
        <Nodes />
      </div>
    </>
  );
}
