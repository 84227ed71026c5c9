// app.tsx - the login page, or the shell with one page.
import { useEffect, useState } from "preact/hooks";
import { messageOf, onLost } from "./base/ask";
import { useEvent } from "./base/events";
import { usePlace } from "./base/router";
import { useStore } from "./base/store";
import { useEvery } from "./base/use_query";
import { LoginPage } from "./pages/login/page";
import { Head } from "./shell/head";
import { Help } from "./shell/help";
import { Nav } from "./shell/nav";
import { pageAt, pagesOf } from "./shell/pages";
import { findSession, refreshAbout, session, useSession } from "./shell/session";
import { Empty, Loading, Say } from "./ui/say";
import { Toasts } from "./ui/toast";

const ABOUT_MS = 30000;

function Nothing() {
  const pages = pagesOf(useSession());
  return (
    <Empty title="Page not found, or no right to see it">
      {pages[0] ? <a href={`/${pages[0].path}`}>Go to {pages[0].title}</a> : "Your roles grant no rights. Ask an administrator."}
    </Empty>
  );
}

function Shell() {
  const now = useSession();
  const { path } = usePlace();
  const found = pageAt(now, path);
  const refresh = () => void refreshAbout().catch(() => undefined);
  useEvery(refresh, ABOUT_MS);
  useEvent("pause", refresh);
  useEvent("config", refresh);
  useEffect(() => {
    const where = now.about.location ?? now.about.host;
    document.title = `${found?.info.title ?? "Waybill"} · ${where}`;
  }, [found?.info.title, now.about.location]);
  return (
    <div class="shell">
      <a class="skip" href="#page" data-plain>
        Skip to the page
      </a>
      <Head />
      <Nav />
      <main class="page" id="page">
        {found ? <found.info.page key={`${found.info.path}/${found.rest}`} rest={found.rest} /> : <Nothing />}
      </main>
      <Help />
      <Toasts />
    </div>
  );
}

export function App() {
  const now = useStore(session);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(() => {
    findSession().catch((e) => setTrouble(messageOf(e)));
    return onLost(() => session.set(null));
  }, []);
  if (now) return <Shell />;
  if (now === null) return <LoginPage />;
  if (trouble === null) return <Loading />;
  return (
    <main class="login">
      <div class="card">
        <Say tone="bad">{trouble}</Say>
        <button onClick={() => location.reload()}>Try again</button>
      </div>
    </main>
  );
}
