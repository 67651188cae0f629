"use strict";

// The viewer of the OpenAPI document. It asks no other host: without `validatorUrl: null` it would send the
// document's address to one.
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

SwaggerUIBundle({
  url: new URL("openapi.json", document.baseURI).href,
  dom_id: "#docs",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayOperationId: true,
  displayRequestDuration: true,
  docExpansion: "list",
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete: () => {
    document.title = `API: ${document.querySelector(".title")?.firstChild?.textContent ?? ""}`;
  },
});
