// answer.tsx - what the receiver of a delivery answered, read when somebody opens it.
import * as api from "../../api";
import { size } from "../../base/format";
import { useQuery } from "../../base/use_query";
import { fromBase64, hexOf, isText, textOf } from "../../payload/bytes";
import { prettyText } from "../../payload/pretty";
import { formatOf } from "../../payload/tokens";
import type { Delivery } from "../../types";
import { Dialog } from "../../ui/dialog";
import { Empty, Failed, Loading } from "../../ui/say";
import { Time } from "../../ui/time";

interface Props {
  document: string;
  delivery: Delivery;
  onClose: () => void;
}

export function AnswerDialog({ document, delivery, onClose }: Props) {
  const { data, error, loading, reload } = useQuery(api.answer, { id: document, delivery: delivery.id ?? delivery.endpoint });
  const answer = data?.document?.answer;
  const about = delivery.answer!;
  const bytes = answer ? fromBase64(answer.text) : new Uint8Array();
  const text = isText(bytes) ? textOf(bytes) : null;
  return (
    <Dialog title={`Answer of ${delivery.endpoint}`} large onClose={onClose}>
      <p class="quiet">
        {about.status !== null && <span class="tag">{about.status}</span>} {about.contentType} {size(about.size)}
        {about.kept < about.size && `, of which ${size(about.kept)} were kept`}, attempt {about.attempt}, <Time at={about.time} />
      </p>
      {loading && <Loading />}
      <Failed error={error} again={reload} />
      {data && !answer && <Empty title="This answer no longer exists" />}
      {answer && (
        <pre class="text wrap" tabIndex={0} aria-label="Answer">
          {text === null ? hexOf(bytes, 0) : prettyText(text, about.kept < about.size ? null : formatOf(text))}
        </pre>
      )}
    </Dialog>
  );
}
