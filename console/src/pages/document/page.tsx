// page.tsx - Document: its waybill, trace, payload, and actions.
import { useState } from "preact/hooks";
import * as api from "../../api";
import { useQuery } from "../../base/use_query";
import { PayloadViewer } from "../../payload/viewer";
import { useCan } from "../../shell/session";
import type { DocumentDetail } from "../../types";
import { Copy } from "../../ui/copy";
import { Diff } from "../../ui/diff";
import { Empty, Failed, Loading } from "../../ui/say";
import { State } from "../../ui/state";
import { Actions } from "./actions";
import { Deliveries, WhyItWaits } from "./deliveries";
import { Timeline } from "./timeline";
import { TracePicture } from "./trace";
import { TryStep } from "./try";
import { Waybill } from "./waybill";

const MOVING_MS = 2000;
const RESTING_MS = 15000;

export function DocumentPage({ rest }: { rest: string }) {
  const [moving, setMoving] = useState(true);
  const { data, error, loading, reload } = useQuery(api.document, { id: rest }, { every: moving ? MOVING_MS : RESTING_MS });
  const d = data?.document;
  const isMoving = d ? ["received", "active", "retrying", "held"].includes(d.state) : true;
  if (isMoving !== moving) setMoving(isMoving);
  return (
    <>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && !d && (
        <Empty title="Document not found">
          It may have been purged, or your roles do not cover its systems. <a href="/documents">All documents</a>
        </Empty>
      )}
      {d && <Detail document={d} onChanged={reload} />}
    </>
  );
}

function Detail({ document: d, onChanged }: { document: DocumentDetail; onChanged: () => void }) {
  const [chosen, setChosen] = useState(-1);
  const mayLook = useCan("payload");
  const mayConfigure = useCan("configure");
  return (
    <>
      <div class="title">
        <h1>
          {d.type ?? "Document"} <State word={d.state} />
        </h1>
        <Copy text={d.id} />
        <span class="room" />
        <Actions document={d} onChanged={onChanged} />
      </div>
      <WhyItWaits document={d} />
      <section class="card">
        <header>
          <h2>Trace</h2>
          <span class="quiet">time runs to the right; long waits are shortened</span>
        </header>
        <TracePicture document={d} chosen={chosen} onChoose={setChosen} />
      </section>
      <div class="columns after">
        <div class="c4">
          <Waybill document={d} />
        </div>
        <div class="c8">
          <Deliveries document={d.id} deliveries={d.deliveries} />
          {mayLook && <PayloadViewer id={d.id} stages={d.stages} />}
          {mayLook && d.editOf && <EditChanges id={d.id} />}
          {mayLook && mayConfigure && <TryStep id={d.id} stages={d.stages} />}
          <section class="card">
            <header>
              <h2>Timeline</h2>
            </header>
            <Timeline entries={d.timeline} chosen={chosen} onChoose={setChosen} />
          </section>
        </div>
      </div>
    </>
  );
}

function EditChanges({ id }: { id: string }) {
  const { data } = useQuery(api.editDiff, { id });
  const text = data?.document?.editDiff;
  if (!text) return null;
  return (
    <section class="card">
      <header>
        <h2>Changes by the edit</h2>
      </header>
      <Diff text={text} />
    </section>
  );
}
