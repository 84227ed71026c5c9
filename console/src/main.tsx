import { render } from "preact";
import { App } from "./app";
import { startKeys } from "./base/keys";
import { startRouter } from "./base/router";
import { startTheme } from "./shell/theme";
import "uplot/dist/uPlot.min.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/pages.css";

startTheme();
startRouter();
startKeys();
render(<App />, document.getElementById("app")!);
