"use strict";
(() => {
  const header = document.getElementById("live");
  const shown = (name, value) => {
    if (value === null || value === undefined) return name === "stopped" ? "" : "-";
    if (name === "expected_error") return (100 * value).toFixed(1) + "%";
    return typeof value === "number" ? value.toLocaleString("en") : String(value);
  };
  const source = new EventSource("/api/v1/projects/" + header.dataset.project + "/events");
  source.addEventListener("change", (event) => {
    const summary = JSON.parse(event.data);
    for (const place of header.querySelectorAll("[data-live]"))
      place.textContent = shown(place.dataset.live, summary[place.dataset.live]);
  });
})();
