// page.tsx - Configuration: its parts, its text, its history, keys and secrets.
import * as api from "../../api";
import { useStore } from "../../base/store";
import { useQuery } from "../../base/use_query";
import { Empty, Say } from "../../ui/say";
import { draft } from "./draft";
import { ConfigHistory } from "./history";
import { ConfigKeys } from "./keys";
import { ConfigParts } from "./parts";
import { ConfigText } from "./text";

const TABS = {
  "": { title: "Parts", page: ConfigParts },
  text: { title: "Text", page: ConfigText },
  history: { title: "History", page: ConfigHistory },
  keys: { title: "Keys and secrets", page: ConfigKeys },
} as const;

export function ConfigPage({ rest }: { rest: string }) {
  const now = useStore(draft);
  const file = useQuery(api.configFile, {}).data?.about.configFile ?? null;
  const tab = rest in TABS ? TABS[rest as keyof typeof TABS] : null;
  return (
    <>
      <div class="title">
        <h1>Configuration</h1>
        {now && <span class="wait">you have unapplied changes</span>}
        <span class="room" />
        <nav class="tabs" aria-label="Parts of the page">
          {Object.entries(TABS).map(([path, { title }]) => (
            <a key={path} href={`/config${path && `/${path}`}`} aria-current={path === rest ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
      </div>
      {file !== null && (
        <Say tone="plain">
          Read-only: the configuration of this node is its file <code>{file}</code> (<code>node.config: file</code>). Change it there, then send SIGHUP to
          the node or restart it.
        </Say>
      )}
      {tab ? <tab.page readOnly={file !== null} /> : <Empty title="Page not found" />}
    </>
  );
}
