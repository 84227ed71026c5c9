// page.tsx - logging in: with a password, with single sign-on, or with the node's token.
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../../base/ask";
import { logIn, logInWithToken } from "../../shell/session";
import { Brand } from "../../ui/icon";
import { Say } from "../../ui/say";

function field(form: HTMLFormElement, name: string): string {
  return String(new FormData(form).get(name) ?? "");
}

interface Ways {
  password: boolean;
  /** A provider of OpenID Connect, and the path that leads there. */
  oidc: { title: string; start: string } | null;
}

/** The login methods; null: unknown. */
function useWays(): Ways | null {
  const [ways, set] = useState<Ways | null>(null);
  useEffect(() => {
    fetch("/login/ways")
      .then((r) => (r.ok ? (r.json() as Promise<Ways>) : null))
      .then(set, () => undefined);
  }, []);
  return ways;
}

export function LoginPage() {
  const ways = useWays();
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const attempt = (fn: (form: HTMLFormElement) => Promise<void>) => async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await fn(e.currentTarget as HTMLFormElement);
    } catch (problem) {
      setError(messageOf(problem));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <div class="card">
        <h1>
          <Brand /> Waybill
        </h1>
        {error && <Say tone="bad">{error}</Say>}
        <form onSubmit={attempt((f) => logIn(field(f, "user"), field(f, "password")))}>
          <label>
            User
            <input name="user" autoComplete="username" required autoFocus />
          </label>
          <label>
            Password
            <input name="password" type="password" autoComplete="current-password" required />
          </label>
          <button class="first" disabled={busy}>
            Log in
          </button>
        </form>
        {ways?.oidc && (
          <a class="button" href={ways.oidc.start} data-plain>
            Log in with {ways.oidc.title}
          </a>
        )}
        <p class="quiet hint">The link for the first user is printed when the node starts.</p>
        <details>
          <summary>Use the token of the node</summary>
          <form onSubmit={attempt((f) => logInWithToken(field(f, "token").trim()))}>
            <label>
              Token
              <input name="token" type="password" autoComplete="off" required />
            </label>
            <p class="quiet">It is in the file `token` of the node's data folder. It is kept for this tab only.</p>
            <button disabled={busy}>Continue</button>
          </form>
        </details>
      </div>
    </main>
  );
}
