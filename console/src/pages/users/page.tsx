// page.tsx - Users and roles: users, roles, keys for machines, sessions.
import { Empty } from "../../ui/say";
import { AdminKeys } from "./keys";
import { Roles } from "./roles";
import { Sessions } from "./sessions";
import { Users } from "./users";

const TABS = {
  "": { title: "Users", page: Users },
  roles: { title: "Roles", page: Roles },
  keys: { title: "Keys for machines", page: AdminKeys },
  sessions: { title: "Sessions", page: Sessions },
} as const;

export function UsersPage({ rest }: { rest: string }) {
  const tab = rest in TABS ? TABS[rest as keyof typeof TABS] : null;
  return (
    <>
      <div class="title">
        <h1>Users and roles</h1>
        <span class="room" />
        <nav class="tabs" aria-label="Parts of the page">
          {Object.entries(TABS).map(([path, { title }]) => (
            <a key={path} href={`/users${path && `/${path}`}`} aria-current={path === rest ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
      </div>
      {tab ? <tab.page /> : <Empty title="Page not found" />}
    </>
  );
}
